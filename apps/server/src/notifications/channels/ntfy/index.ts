import { z } from 'zod'
import { addressSetting, channelKind, hostOf, type OutgoingMessage, secretText } from '../../channel-kind.ts'

const tags: Readonly<Record<OutgoingMessage['tone'], string>> = {
  good: 'white_check_mark',
  bad: 'rotating_light',
  neutral: 'information_source',
}

/** Published as JSON: names in any script would not fit into headers. */
export const ntfy = channelKind({
  name: 'ntfy',
  label: 'ntfy',
  settings: z.strictObject({
    topic: secretText('The topic. Whoever knows it can read it, unless the server asks for a token.').regex(
      /^[-_A-Za-z0-9]{1,64}$/,
      'must be 1 to 64 letters, digits, - and _',
    ),
    serverUrl: addressSetting('The server.').default('https://ntfy.sh'),
    token: secretText('An access token, if the topic needs one.').nullable().default(null).meta({ writeOnly: true }),
  }),
  destinations: ['serverUrl'],
  address: ({ serverUrl }) => hostOf(serverUrl),
  send: (message, { serverUrl, topic, token }, outside) =>
    outside.post(
      serverUrl,
      {
        topic,
        title: message.title,
        // What is longer becomes an attachment.
        message: withinBytes(message.text === '' ? message.title : message.text, 3900),
        priority: message.urgent ? 5 : message.tone === 'bad' ? 4 : 3,
        tags: [tags[message.tone]],
        click: message.link,
      },
      token === null ? {} : { authorization: `Bearer ${token}` },
    ),
})

function withinBytes(text: string, most: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= most) return text
  // A character that is cut in two ends as U+FFFD.
  return `${bytes
    .subarray(0, most - 3)
    .toString('utf8')
    .replace(/\uFFFD$/, '')}…`
}
