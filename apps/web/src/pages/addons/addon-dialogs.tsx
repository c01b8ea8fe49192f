import type { Addon } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { addonQuery, removeAddon } from '../../api/addons.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { toastDone } from '../../components/toast.tsx'
import { holdersOf } from '../../lib/addons.ts'
import { texts } from '../../texts/index.ts'
import { AddonForm } from './addon-form.tsx'

const t = texts.addons

export type AddonAct = { readonly do: 'add' } | { readonly do: 'replace' | 'remove'; readonly addon: Addon }

interface DialogsProps {
  act: AddonAct | null
  addons: readonly Addon[]
  onClose: () => void
}

export function AddonDialogs({ act, addons, onClose }: DialogsProps) {
  // A dialog that slides away still shows what it was about.
  const [shown, setShown] = useState<Addon | null>(null)
  const about = act === null || act.do === 'add' ? null : act.addon
  useEffect(() => {
    if (about !== null) setShown(about)
  }, [about])
  // Who uses it may have become known meanwhile.
  const one = addons.find(({ name }) => name === (about ?? shown)?.name) ?? about ?? shown
  const title = one?.title ?? ''
  const names = addons.map(({ name }) => name)
  const holders = holdersOf(one?.usedBy ?? [])
  return (
    <>
      <Dialog open={act?.do === 'add'} onClose={onClose} title={t.addTitle} detail={t.addDetail} wide>
        <AddonForm names={names} replaced={null} start="" onClose={onClose} />
      </Dialog>
      <Dialog
        open={act?.do === 'replace'}
        onClose={onClose}
        title={t.replaceTitle(title)}
        detail={t.replaceDetail}
        wide
      >
        {one !== null && <Replace addon={one} names={names} onClose={onClose} />}
      </Dialog>
      <Dialog
        open={act?.do === 'remove' && holders.length > 0}
        onClose={onClose}
        title={t.inUseTitle(title)}
        detail={t.inUseDetail}
      >
        <ul className="list-inside list-disc">
          {holders.map(({ project, slug, enabled }) => (
            <li key={project} className="break-words">
              <Link to="/projects/$project/services" params={{ project: slug }} className="underline">
                {slug}
              </Link>{' '}
              <span className="text-ink-2">({enabled ? t.enabledIn : t.dataIn})</span>
            </li>
          ))}
        </ul>
        <DialogActions>
          <Button onClick={onClose}>{texts.common.close}</Button>
        </DialogActions>
      </Dialog>
      <ConfirmDialog
        open={act?.do === 'remove' && holders.length === 0}
        onClose={onClose}
        title={t.removeTitle(title)}
        detail={t.removeDetail}
        submit={t.removeSubmit}
        onConfirm={async () => {
          if (one === null) return
          await removeAddon(one.name)
          toastDone(t.removed(title))
        }}
      />
    </>
  )
}

interface ReplaceProps {
  addon: Addon
  names: readonly string[]
  onClose: () => void
}

/** The file as it was added, to change it or to put another in its place. */
function Replace({ addon, names, onClose }: ReplaceProps) {
  const query = useQuery(addonQuery(addon.name))
  return (
    <Loaded query={query} rows={6}>
      {({ yaml }) => <AddonForm names={names} replaced={addon} start={yaml} onClose={onClose} />}
    </Loaded>
  )
}
