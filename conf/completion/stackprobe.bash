# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for stackprobe
_stackprobe() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=daemon at=1 words=
	local probes="oncpu offcpu mem mem_glibc"

	case ${COMP_WORDS[1]} in
	daemon | record | render | report | sched | top | doctor) command=${COMP_WORDS[1]} at=2 ;;
	esac
	if [ "$COMP_CWORD" -lt "$at" ] || { [ "$COMP_CWORD" -eq 1 ] && [[ $cur != -* ]]; }; then
		mapfile -t COMPREPLY < <(compgen -W "daemon record render report sched top doctor" -- "$cur")
		return
	fi
	if [ "$command" = sched ] && [ "$COMP_CWORD" -eq 2 ]; then
		words="runqlat runqlen runqslower cpudist offcpudist offcpuslower firstrun"
	fi
	case $prev in
	-p | --pid) words=$(cd /proc && echo [0-9]*) ;;
	-e | --event) words=$probes ;;
	--view) words="alloc inuse mmap peak" ;;
	--by)
		words="pid tid pidns cgroup cpu"
		if [ "$command" = top ]; then
			words="cpu wait switches faults major calls read write disk_read disk_write migrations"
		fi
		;;
	--group) words="pid comm container pod cgroup" ;;
	--unit) words="us ms" ;;
	--frame-detail) words="line name signature" ;;
	--places) words="auto keep drop" ;;
	--log-level) words="debug info warn error" ;;
	--describe) words="probes params sched_params proc_params metrics" ;;
	-o | --output | --config | --diff | --compare)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	if [ -z "$words" ] && [[ $cur == -* ]]; then
		# The options are those that --help lists.
		words=$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u)
	fi
	if [ -n "$words" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; [ "$command" = record ] && compgen -c -- "$cur")
	fi
}
complete -o filenames -F _stackprobe stackprobe
