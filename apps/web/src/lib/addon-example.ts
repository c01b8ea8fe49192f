/** A file to begin with: something that stands in the editor can be changed, a blank one must be looked up. */
export const addonExample = `name: broker
title: Broker
description: Passes messages between programs.
versions:
  - version: '2.12'
    image: nats:2.12-alpine
    default: true
command: [/usr/local/bin/nats-server, --addr, '\${host}', --port, '\${port.main}', --jetstream, --store_dir, '\${data}']
ports:
  - name: main
    port: 4222
volumes:
  - path: /data
injects:
  BROKER_URL: nats://\${host}:\${port.main}
credentials:
  - label: url
    value: nats://\${host}:\${port.main}
`
