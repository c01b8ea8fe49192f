import { z } from 'zod'
import { channelKind, hostOf, type OutgoingMessage, secretAddress } from '../../channel-kind.ts'

const colours: Readonly<Record<OutgoingMessage['tone'], string>> = {
  good: 'good',
  bad: 'attention',
  neutral: 'default',
}

/** Workflows take Adaptive Cards alone; the connectors of before are retired. */
export const teams = channelKind({
  name: 'teams',
  label: 'Microsoft Teams',
  settings: z.strictObject({
    url: secretAddress('Address of a workflow “When a Teams webhook request is received”.'),
  }),
  destinations: [],
  address: ({ url }) => hostOf(url),
  send: (message, { url }, outside) => {
    const lines = message.text === '' ? [] : message.text.split('\n')
    return outside.post(url, {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            body: [
              paragraph({ text: message.title, weight: 'bolder', size: 'medium', color: colours[message.tone] }),
              ...lines.map((text) => paragraph({ text })),
            ],
            actions: [{ type: 'Action.OpenUrl', title: 'Open in Stackquay', url: message.link }],
          },
        },
      ],
    })
  },
})

/** Text runs know no Markdown, so that names are shown as they are. */
function paragraph(run: Readonly<Record<string, string>>) {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', ...run }] }
}
