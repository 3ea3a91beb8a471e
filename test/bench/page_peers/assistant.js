// SPDX-License-Identifier: GPL-2.0-or-later
/* Stands for @grafana/assistant, which the flame graph imports and pyroscope.js switches off. */
export const OpenAssistantButton = () => null;
