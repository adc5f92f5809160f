using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// One reactor's binding to one site: moves to each new snapshot, counts the bodies that are sent from it, and releases it after the last
/// one. A check for a new snapshot costs one read of a shared reference, a move one interlocked count: no request touches memory that
/// another core writes.
/// </summary>
/// <remarks>
/// <list type="table">
/// <listheader><term>What</term><description>Owner</description></listheader>
/// <item><term>Site, catalog, files</term><description>shared; any thread</description></item>
/// <item><term>Current and its count of uses</term><description>the reactor</description></item>
/// <item><term>superseded snapshots and their counts</term><description>the reactor, until their last body ends</description></item>
/// <item><term>stat cache</term><description>the reactor; valid for one loop iteration and one snapshot</description></item>
/// <item><term>the lease on each of these snapshots</term><description>this binding, from its move to the last use</description></item>
/// </list>
/// </remarks>
/// <param name="site">The site; remains the caller's.</param>
/// <param name="files">Opens and checks the site's files; null for the kernel's file system.</param>
internal sealed class SiteBinding(Site site, AssetFiles? files = null) : IDisposable
{
    /// <summary>Snapshots whose last bodies are still being sent: few, as each is held by slow clients only.</summary>
    private readonly List<(CatalogSnapshot Snapshot, int Uses)> _superseded = [];
    private int _uses;
    private bool _isDisposed;
    private StatSlots _stats;

    public Site Site => site;

    public AssetFiles Files { get; } = files ?? AssetFiles.System;

    /// <summary>The snapshot for requests that begin now.</summary>
    public CatalogSnapshot Current { get; private set; } = site.Catalog.Acquire();

    /// <summary>Moves to the latest snapshot; call between two requests.</summary>
    public void AcquireLatest()
    {
        if (!ReferenceEquals(site.Catalog.Current, Current))
        {
            CatalogSnapshot latest = site.Catalog.Acquire();
            Supersede();
            Current = latest;

            // A descriptor of the new snapshot may have the number of one that was closed.
            _stats = default;
        }
    }

    /// <summary>Begins a use of <see cref="Current"/>, which lasts until <see cref="EndUse"/>.</summary>
    public void BeginUse()
    {
        Debug.Assert(!_isDisposed, "no request begins on a binding that was removed");
        _uses++;
    }

    /// <summary>
    /// Ends a use after its last access to an asset: for memory and descriptors submitted to the kernel, after their last completion.
    /// </summary>
    public void EndUse(CatalogSnapshot snapshot)
    {
        if (ReferenceEquals(snapshot, Current) && !_isDisposed)
        {
            _uses--;
            Debug.Assert(_uses >= 0, "each use ends once");
            return;
        }

        // No lambda: it would allocate at each call, also above.
        int index = _superseded.Count - 1;
        while (!ReferenceEquals(_superseded[index].Snapshot, snapshot))
        {
            index--;
        }

        int uses = _superseded[index].Uses - 1;
        if (uses > 0)
        {
            _superseded[index] = (snapshot, uses);
        }
        else
        {
            _superseded.RemoveAt(index);
            snapshot.Release();
        }
    }

    /// <summary>
    /// The state of a descriptor that a snapshot holds, at some moment of a loop iteration: one stat for all responses of that iteration.
    /// Valid because all reads whose completions an iteration delivers had ended before the first one is delivered. 0 or -errno.
    /// </summary>
    public int Stat(int descriptor, long iteration, out FileState state)
    {
        ref StatEntry entry = ref _stats[descriptor & (StatSlots.Count - 1)];
        if (entry.Iteration == iteration && entry.Descriptor == descriptor)
        {
            state = entry.State;
            return 0;
        }

        int result = Files.Stat(descriptor, out state);
        if (result >= 0)
        {
            entry = new StatEntry(descriptor, iteration, state);
        }

        return result;
    }

    /// <summary>Ends the binding when the reactor ends or no longer serves the site; bodies being sent keep their snapshots.</summary>
    public void Dispose()
    {
        if (!_isDisposed)
        {
            Supersede();
            _isDisposed = true;
        }
    }

    private void Supersede()
    {
        if (_uses == 0)
        {
            Current.Release();
        }
        else
        {
            _superseded.Add((Current, _uses));
            _uses = 0;
        }
    }

    private readonly record struct StatEntry(int Descriptor, long Iteration, FileState State);

    [InlineArray(Count)]
    private struct StatSlots
    {
        public const int Count = 16;

        private StatEntry _first;
    }
}
