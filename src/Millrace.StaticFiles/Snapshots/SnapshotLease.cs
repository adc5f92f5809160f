using System.Diagnostics;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// One reactor's lease on one snapshot, which counts the requests that use it in a plain int. Belongs to that reactor's thread. After a
/// newer snapshot was acquired, it ends with the last request.
/// </summary>
/// <param name="snapshot">The leased snapshot; the lease passes to this object.</param>
/// <param name="files">Opens and checks the snapshot's files.</param>
internal sealed class SnapshotLease(CatalogSnapshot snapshot, AssetFiles files)
{
    private StatCache? _checks;
    private int _requestsInFlight;
    private bool _isSuperseded;

    public CatalogSnapshot Snapshot => snapshot;

    public AssetFiles Files => files;

    /// <summary>Stat results of the files whose descriptors the snapshot holds.</summary>
    public StatCache Checks => _checks ??= new StatCache(files);

    /// <summary>Begins a request that uses this snapshot. Each must be ended with <see cref="EndRequest"/>.</summary>
    public void BeginRequest()
    {
        Debug.Assert(!_isSuperseded, "requests begin on the latest lease");
        _requestsInFlight++;
    }

    /// <summary>
    /// Ends a request after its last use of an asset: for memory and descriptors submitted to the kernel, after their last completion.
    /// </summary>
    public void EndRequest()
    {
        _requestsInFlight--;
        Debug.Assert(_requestsInFlight >= 0, "each request ends once");
        ReleaseIfDone();
    }

    /// <summary>Ends the lease: no further request begins.</summary>
    public void Supersede()
    {
        Debug.Assert(!_isSuperseded, "a lease is superseded once");
        _isSuperseded = true;
        ReleaseIfDone();
    }

    private void ReleaseIfDone()
    {
        if (_isSuperseded && _requestsInFlight == 0)
        {
            snapshot.Release();
        }
    }
}
