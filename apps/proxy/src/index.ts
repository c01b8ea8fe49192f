export type {
  Http01Answer,
  ProxyCertificate,
  ProxyCertificates,
  TlsAlpn01Answer,
} from './certificates.ts'
export {
  createProxyControl,
  type EnsureOptions,
  ensureProxy,
  type ProxyControl,
  ProxyError,
  type ProxyStatus,
} from './control.ts'
export {
  emptyTable,
  type PageName,
  type PageTarget,
  pageNames,
  parseRouteTable,
  type Route,
  type RouteProject,
  type RouteTable,
  RouteTableError,
  type Target,
  type UpstreamTarget,
} from './route-table.ts'
