// SPDX-License-Identifier: GPL-2.0-or-later
/* react-custom-scrollbars-2 with the default export that @grafana/ui expects: esbuild gives it the whole module. */
export {Scrollbars as default} from './node_modules/react-custom-scrollbars-2/lib/index.js';
