import { z } from 'zod'
import { channelKind, hostOf, secretAddress, shortened } from '../../channel-kind.ts'

/** Incoming webhooks of Slack, and of what takes the same: Mattermost, Rocket.Chat. */
export const slack = channelKind({
  name: 'slack',
  label: 'Slack',
  settings: z.strictObject({ url: secretAddress('The webhook’s address: https://hooks.slack.com/services/…') }),
  destinations: [],
  address: ({ url }) => hostOf(url),
  send: (message, { url }, outside) => {
    const title = escapeText(message.title)
    // A section takes 3,000 characters; escaping makes up to five of one.
    const text = shortenedEscaped(message.text, 2950 - title.length)
    const link = `<${escapeText(message.link)}|Open in Stackquay>`
    const body = [`*${title}*`, ...(text === '' ? [] : [text])].join('\n')
    return outside.post(url, {
      text: title,
      blocks: [
        // Verbatim: names of people and channels in it are not made into mentions.
        { type: 'section', text: { type: 'mrkdwn', text: body, verbatim: true } },
        { type: 'context', elements: [{ type: 'mrkdwn', text: link, verbatim: true }] },
      ],
    })
  },
})

/** The three characters with which mentions, links and commands begin. */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function shortenedEscaped(text: string, most: number): string {
  let length = most
  for (;;) {
    const escaped = escapeText(shortened(text, length))
    if (escaped.length <= most) return escaped
    length -= Math.max(1, Math.ceil((escaped.length - most) / 5))
  }
}
