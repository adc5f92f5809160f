namespace Millrace.Tls.Handshakes;

/// <summary>
/// The half-open handshakes of a reactor: the ClientHello got a response, and the handshake is not complete. Each holds some 55 KB of
/// OpenSSL's memory (its message buffers), so their number is limited. Beyond the limit the oldest handshakes of the client with the most
/// are ended; a client that completes within a round trip is hardly ever affected. Reactor thread only.
/// </summary>
/// <param name="most">The limit.</param>
internal sealed class HalfOpenHandshakes(int most)
{
    /// <summary>This fraction is ended at once, so that clients are not grouped for each new handshake.</summary>
    private const int PartEnded = 8;

    private readonly LinkedList<TlsServerFilter> _oldestFirst = new();

    public LinkedListNode<TlsServerFilter> Add(TlsServerFilter filter)
    {
        if (_oldestFirst.Count >= most)
        {
            EndSome();
        }

        return _oldestFirst.AddLast(filter);
    }

    /// <summary>Removes a handshake that is complete or over. One that was ended here is removed already.</summary>
    public void Remove(LinkedListNode<TlsServerFilter> node)
    {
        if (node.List is not null)
        {
            _oldestFirst.Remove(node);
        }
    }

    private void EndSome()
    {
        TlsServerFilter[] ended =
        [
            .. _oldestFirst.GroupBy(static filter => filter.Client)
                .OrderByDescending(static client => client.Count())
                .SelectMany(static client => client)
                .Take(Math.Max(1, most / PartEnded)),
        ];
        foreach (TlsServerFilter filter in ended)
        {
            _oldestFirst.Remove(filter);
            filter.Evict();
        }
    }
}
