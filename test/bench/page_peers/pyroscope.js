// SPDX-License-Identifier: GPL-2.0-or-later
/* The flame graph of Pyroscope's page, alone: what test/bench/page.py measures as @grafana/flamegraph. */
import {createTheme, FieldType} from '@grafana/data';
import {FlameGraph} from '@grafana/flamegraph';
import {createRoot} from 'react-dom/client';

const getTheme = () => createTheme({colors: {mode: 'light'}});

/* A data frame of preorder columns; labels are numbers in a list of names, as Grafana's servers send them. */
function frameOf({names, label, level, value, self}) {
	const number = (name, values) => ({name, type: FieldType.number, config: {unit: 'short'}, values});

	return {length: label.length, fields: [
		number('level', level), number('value', value), number('self', self),
		{name: 'label', type: FieldType.enum, config: {type: {enum: {text: names}}}, values: label},
	]};
}

const answer = await fetch('/columns.json');
const data = frameOf(await answer.json());

createRoot(document.querySelector('main')).render(<FlameGraph data={data} getTheme={getTheme} showAnalyzeWithAssistant={false} />);
