import { z } from 'zod'
import { channelKind, hostOf, type OutgoingMessage, secretAddress, shortened } from '../../channel-kind.ts'

const colours: Readonly<Record<OutgoingMessage['tone'], number>> = {
  good: 0x2e_9e_5b,
  bad: 0xd6_3a_3a,
  neutral: 0x5b_6b_7f,
}

export const discord = channelKind({
  name: 'discord',
  label: 'Discord',
  settings: z.strictObject({ url: secretAddress('The webhook’s address: https://discord.com/api/webhooks/…') }),
  destinations: [],
  address: ({ url }) => hostOf(url),
  send: (message, { url }, outside) =>
    outside.post(url, {
      embeds: [
        {
          title: shortened(escapeText(message.title), 256),
          description: shortened(escapeText(message.text), 4096),
          url: message.link,
          color: colours[message.tone],
          timestamp: message.at,
        },
      ],
      // Nobody is called by what a project is named.
      allowed_mentions: { parse: [] },
    }),
})

/** What Discord reads as markup: links with a text of their own, mentions, emphasis. */
function escapeText(text: string): string {
  return text.replaceAll(/[\\*_~`|>#[\]()<@:-]/g, (found) => `\\${found}`)
}
