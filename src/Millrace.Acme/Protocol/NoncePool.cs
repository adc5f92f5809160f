namespace Millrace.Acme.Protocol;

/// <summary>The nonces that a server gave with its answers (RFC 8555, section 6.5). Any thread; each is taken once.</summary>
internal sealed class NoncePool(TimeProvider clock)
{
    private const int Capacity = 8;

    /// <summary>Servers forget nonces. One that is refused costs a round trip, as one that is fetched does.</summary>
    private static readonly TimeSpan Lifetime = TimeSpan.FromMinutes(5);

    private readonly Lock _lock = new();
    private readonly Stack<(string Nonce, long Received)> _nonces = new(Capacity);

    /// <summary>The newest; null if there is none that is fresh.</summary>
    public string? Take()
    {
        lock (_lock)
        {
            if (_nonces.TryPop(out (string Nonce, long Received) newest) && clock.GetElapsedTime(newest.Received) < Lifetime)
            {
                return newest.Nonce;
            }

            _nonces.Clear();
            return null;
        }
    }

    /// <summary>Keeps one, if it is one at all: others are to be ignored (RFC 8555, section 6.5.1).</summary>
    public void Add(string? nonce)
    {
        if (nonce is null || !AcmeText.IsBase64Url(nonce))
        {
            return;
        }

        lock (_lock)
        {
            if (_nonces.Count < Capacity)
            {
                _nonces.Push((nonce, clock.GetTimestamp()));
            }
        }
    }

    /// <summary>Forgets all: where one is refused, the server may have forgotten the others too.</summary>
    public void Clear()
    {
        lock (_lock)
        {
            _nonces.Clear();
        }
    }
}
