import { z } from 'zod'
import { addressSetting, channelKind, hostOf, secretText, under } from '../../channel-kind.ts'

export const gotify = channelKind({
  name: 'gotify',
  label: 'Gotify',
  settings: z.strictObject({
    serverUrl: addressSetting('The server: https://gotify.example.org'),
    token: secretText('The token of an application.'),
  }),
  destinations: ['serverUrl'],
  address: ({ serverUrl }) => hostOf(serverUrl),
  send: (message, { serverUrl, token }, outside) =>
    outside.post(
      under(serverUrl, 'message'),
      {
        title: message.title,
        message: message.text === '' ? message.title : message.text,
        priority: message.urgent ? 10 : message.tone === 'bad' ? 7 : 4,
        extras: {
          'client::display': { contentType: 'text/plain' },
          'client::notification': { click: { url: message.link } },
        },
      },
      { 'x-gotify-key': token },
    ),
})
