namespace Millrace.Quic.Connections;

/// <summary>Connections of an endpoint, in all, by validated client and in their handshakes, against its limits.</summary>
internal sealed class ConnectionCounts(EndpointLimits limits)
{
    private readonly Dictionary<PathAddress, int> _byAddress = [];
    private readonly Dictionary<PathAddress, int> _handshakesByAddress = [];

    public int All { get; private set; }

    public int Handshakes { get; private set; }

    /// <summary>Clients have to prove their address before this endpoint keeps anything for them.</summary>
    public bool WantsRetry => Handshakes >= limits.RetryAbove;

    public bool HasRoom(in PathAddress client, bool isAddressValidated) => All < limits.Connections && Handshakes < limits.Handshakes
        && (!isAddressValidated || (_byAddress.GetValueOrDefault(Key(client)) < limits.ConnectionsPerAddress
            && _handshakesByAddress.GetValueOrDefault(Key(client)) < limits.HandshakesPerAddress));

    public void Add()
    {
        All++;
        Handshakes++;
    }

    /// <summary>A handshake whose client has proved its address is in progress: it is counted for that, too.</summary>
    public void AddHandshake(in PathAddress client) => Change(_handshakesByAddress, client, 1);

    /// <summary><paramref name="client"/>: of a handshake that was given to <see cref="AddHandshake"/>.</summary>
    public void OnHandshakeEnded(in PathAddress? client)
    {
        Handshakes--;
        if (client is { } counted)
        {
            Change(_handshakesByAddress, counted, -1);
        }
    }

    public void Remove() => All--;

    /// <summary>
    /// The address of a connection is validated. Before, it is not counted for it: others could use up a client's part with datagrams that
    /// have its address.
    /// </summary>
    public void AddAddress(in PathAddress client) => Change(_byAddress, client, 1);

    public void RemoveAddress(in PathAddress client) => Change(_byAddress, client, -1);

    private static void Change(Dictionary<PathAddress, int> counts, in PathAddress client, int by)
    {
        int count = counts.GetValueOrDefault(Key(client)) + by;
        if (count > 0)
        {
            counts[Key(client)] = count;
        }
        else
        {
            counts.Remove(Key(client));
        }
    }

    private static PathAddress Key(in PathAddress client) => client with { Port = 0 };
}
