using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace Millrace.AspNetCore.Multiplexed.Streams;

/// <summary>
/// The features of a stream, after which those of its connection are looked up. Kestrel keeps the collection for the next stream of the
/// same object. One thread at a time.
/// </summary>
internal sealed class StreamFeatures
{
    private readonly StreamConnection _owner;
    private readonly FeatureCollection _all;
    private int _revision;

    public StreamFeatures(StreamConnection owner, IFeatureCollection connection)
    {
        _owner = owner;
        _all = new FeatureCollection(connection);
        SetOwn();
    }

    public IFeatureCollection All => _all;

    /// <summary>Removes what the application has set.</summary>
    public void Reset()
    {
        if (_all.Revision == _revision)
        {
            return;
        }

        // Enumeration includes the connection's, which are not set here.
        foreach ((Type key, object _) in _all.ToArray())
        {
            _all[key] = null;
        }

        SetOwn();
    }

    private void SetOwn()
    {
        _all.Set<IReactorFeature>(_owner);
        _all.Set<IConnectionIdFeature>(_owner);
        _all.Set<IConnectionTransportFeature>(_owner);
        _all.Set<IConnectionItemsFeature>(_owner);
        _all.Set<IConnectionLifetimeFeature>(_owner);
        _all.Set<IMemoryPoolFeature>(_owner);
        _all.Set<IPersistentStateFeature>(_owner);
        _all.Set<IStreamDirectionFeature>(_owner);
        _all.Set<IStreamIdFeature>(_owner);
        _all.Set<IProtocolErrorCodeFeature>(_owner);
        _all.Set<IStreamAbortFeature>(_owner);
        _all.Set<IStreamClosedFeature>(_owner.Ending);
        _revision = _all.Revision;
    }
}
