namespace Millrace.Quic.Connections;

/// <summary>Connections of an endpoint, in all, by validated client and in their handshakes, against its limits.</summary>
internal sealed class ConnectionCounts(EndpointLimits limits)
{
    private readonly Dictionary<PathAddress, int> _byAddress = [];

    public int All { get; private set; }

    public int Handshakes { get; private set; }

    /// <summary>Clients have to prove their address before this endpoint keeps anything for them.</summary>
    public bool WantsRetry => Handshakes >= limits.RetryAbove;

    public bool HasRoom(in PathAddress client, bool isAddressValidated) => All < limits.Connections && Handshakes < limits.Handshakes
        && (!isAddressValidated || _byAddress.GetValueOrDefault(Key(client)) < limits.ConnectionsPerAddress);

    public void Add()
    {
        All++;
        Handshakes++;
    }

    public void OnHandshakeEnded() => Handshakes--;

    public void Remove() => All--;

    /// <summary>
    /// The address of a connection is validated. Before, it is not counted for it: others could use up a client's part with datagrams that
    /// have its address.
    /// </summary>
    public void AddAddress(in PathAddress client) => _byAddress[Key(client)] = _byAddress.GetValueOrDefault(Key(client)) + 1;

    public void RemoveAddress(in PathAddress client)
    {
        int count = _byAddress.GetValueOrDefault(Key(client)) - 1;
        if (count > 0)
        {
            _byAddress[Key(client)] = count;
        }
        else
        {
            _byAddress.Remove(Key(client));
        }
    }

    private static PathAddress Key(in PathAddress client) => client with { Port = 0 };
}
