using System.Collections;
using System.Runtime.InteropServices;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Millrace.AspNetCore.Https;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// A connection's features: the transport's own first, then those that the layers above add. There are a dozen at most, so that a linear
/// search is faster than hashing a type; Kestrel searches with every request.
/// </summary>
internal sealed class ConnectionFeatures : IFeatureCollection
{
    private const int UsualCount = 16;

    /// <summary>Implemented by <see cref="TransportConnection"/> itself.</summary>
    private static readonly Type[] Own =
    [
        typeof(IReactorFeature),
        typeof(IConnectionIdFeature),
        typeof(IConnectionTransportFeature),
        typeof(IConnectionItemsFeature),
        typeof(IConnectionLifetimeFeature),
        typeof(IConnectionSocketFeature),
        typeof(IConnectionEndPointFeature),
        typeof(IMemoryPoolFeature),
    ];

    /// <summary>Set after a completed TLS handshake.</summary>
    private static readonly Type[] Tls =
    [
        typeof(ITlsConnectionFeature),
        typeof(ITlsHandshakeFeature),
        typeof(ITlsApplicationProtocolFeature),
    ];

    private readonly List<KeyValuePair<Type, object>> _features = new(UsualCount);

    public ConnectionFeatures(TransportConnection connection, ConnectionTls? tls)
    {
        foreach (Type own in Own)
        {
            _features.Add(new(own, connection));
        }

        if (tls is not null)
        {
            foreach (Type agreed in Tls)
            {
                _features.Add(new(agreed, tls));
            }
        }
    }

    public bool IsReadOnly => false;

    public int Revision { get; private set; }

    public object? this[Type key]
    {
        get
        {
            ArgumentNullException.ThrowIfNull(key);
            int index = IndexOf(key);
            return index < 0 ? null : _features[index].Value;
        }

        set
        {
            ArgumentNullException.ThrowIfNull(key);
            Revision++;
            int index = IndexOf(key);
            if (index >= 0 && value is null)
            {
                _features.RemoveAt(index);
            }
            else if (index >= 0)
            {
                _features[index] = new(key, value!);
            }
            else if (value is not null)
            {
                _features.Add(new(key, value));
            }
        }
    }

    public TFeature? Get<TFeature>() => (TFeature?)this[typeof(TFeature)];

    public void Set<TFeature>(TFeature? instance) => this[typeof(TFeature)] = instance;

    /// <summary>Of a copy: the features may change meanwhile.</summary>
    public IEnumerator<KeyValuePair<Type, object>> GetEnumerator() => _features.ToList().GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private int IndexOf(Type key)
    {
        ReadOnlySpan<KeyValuePair<Type, object>> features = CollectionsMarshal.AsSpan(_features);
        for (int i = 0; i < features.Length; i++)
        {
            if (ReferenceEquals(features[i].Key, key))
            {
                return i;
            }
        }

        return -1;
    }
}
