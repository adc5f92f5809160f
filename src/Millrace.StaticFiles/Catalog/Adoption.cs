using System.Diagnostics;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// One reactor's lease on one snapshot, with the requests that are using it counted in a plain int. Belongs to that reactor's
/// thread. The lease ends with the last request after a newer snapshot was adopted.
/// </summary>
/// <param name="snapshot">What is leased.</param>
/// <param name="files">Through which its files are opened and looked at.</param>
internal sealed class Adoption(CatalogSnapshot snapshot, AssetFiles files)
{
    private TurnLooks? _looks;
    private int _requestsInFlight;
    private bool _isSuperseded;

    public CatalogSnapshot Snapshot => snapshot;

    public AssetFiles Files => files;

    /// <summary>At the files whose descriptors the snapshot holds.</summary>
    public TurnLooks Looks => _looks ??= new TurnLooks(files);

    /// <summary>A request starts to use an asset of this snapshot. Each needs its <see cref="EndRequest"/>.</summary>
    public void BeginRequest()
    {
        Debug.Assert(!_isSuperseded, "requests begin on the latest adoption");
        _requestsInFlight++;
    }

    /// <summary>Its last use of the asset is over: for memory and descriptors handed to the kernel, with their last completion.</summary>
    public void EndRequest()
    {
        _requestsInFlight--;
        Debug.Assert(_requestsInFlight >= 0, "each request ends once");
        ReleaseIfDone();
    }

    /// <summary>No request will begin any more.</summary>
    public void Supersede()
    {
        Debug.Assert(!_isSuperseded, "an adoption ends once");
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
