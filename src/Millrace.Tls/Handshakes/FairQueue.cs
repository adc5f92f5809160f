using Millrace.Interop.Sockets;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// A queue that is fair by client: each round takes one item per address, so that a client with thousands of items does not delay the
/// others. One thread.
/// </summary>
internal sealed class FairQueue<T>
{
    private readonly Dictionary<ClientAddress, Queue<T>> _waiting = [];
    private readonly Queue<ClientAddress> _round = new();

    public int Count { get; private set; }

    /// <summary>Adds an item after those of the same client. Clients without an address (unix sockets) count as one.</summary>
    public void Enqueue(ClientAddress? client, T item)
    {
        ClientAddress key = client.GetValueOrDefault();
        if (!_waiting.TryGetValue(key, out Queue<T>? own))
        {
            _waiting.Add(key, own = new Queue<T>());
            _round.Enqueue(key);
        }

        own.Enqueue(item);
        Count++;
    }

    public bool TryDequeue(out T item)
    {
        if (!_round.TryDequeue(out ClientAddress key))
        {
            item = default!;
            return false;
        }

        Queue<T> own = _waiting[key];
        item = own.Dequeue();
        Count--;
        if (own.Count > 0)
        {
            _round.Enqueue(key);
        }
        else
        {
            _waiting.Remove(key);
        }

        return true;
    }
}
