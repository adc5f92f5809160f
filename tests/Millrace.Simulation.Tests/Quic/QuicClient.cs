using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Simulation.Tests.Runs;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>A client: its host, its addresses, its connection, and perhaps another one after it, with the token of the first.</summary>
internal sealed class QuicClient : IScheduled
{
    private readonly QuicRun _run;
    private readonly PathAddress[] _addresses;
    private byte[]? _token;
    private int _address;

    public QuicClient(QuicRun run, int number, ulong key)
    {
        _run = run;
        Truth = new QuicTruth(number, key);
        Host = new QuicHost(run, run.Random.Next(), isServer: false);
        _addresses =
        [
            PathAddress.FromIPv4(0xC0A8_0000 + (uint)number, 40_000),
            PathAddress.FromIPv4(0xC0A9_0000 + (uint)number, 40_000),
        ];
        foreach (PathAddress address in _addresses)
        {
            run.Network.AddClient(address, Host);
        }

        Host.Start(run.Settings, new EndpointLimits(), acceptor: null);
    }

    public QuicHost Host { get; }

    public QuicTruth Truth { get; private set; }

    public QuicConnection? Connection { get; private set; }

    public bool IsOver { get; private set; }

    /// <summary>One of its addresses as the server sees it.</summary>
    public bool IsAt(in PathAddress external) =>
        _run.Network.ExternalOf(_addresses[0]) == external || _run.Network.ExternalOf(_addresses[1]) == external;

    /// <summary>Its time to connect has come.</summary>
    public void Act(int eventId) => Connect(_run.Swarm.Has(QuicFault.VersionNegotiated) ? QuicVersion.Grease : _run.Version, isAfterNegotiation: false);

    public void Connect(uint version, bool isAfterNegotiation)
    {
        _address = 0;
        if (_token is not null)
        {
            _run.Network.Ledger.Exempt(_run.Network.ExternalOf(_addresses[0]));
        }

        TestHandshake handshake = new(
            new TestHandshakeOptions { Seed = _run.Random.Next(), ClientHelloLength = _run.Shape.HelloLength, Protectors = _run.Protectors },
            isServer: false);
        QuicClientApplication application = new(_run, Truth);
        Connection = Host.Endpoint.Connect(
            _addresses[0], SimulatedNetwork.Server, handshake, application, version, _token, isAfterNegotiation, _run.Events.Now);
        application.Connection = Connection;
        Host.Pump(Connection);
    }

    /// <summary>The connection has ended: another one follows, or the client is over.</summary>
    public void OnEnded(QuicClientApplication application, in CloseReason reason)
    {
        if (reason is { Source: CloseSource.NoVersion, Code: not 0 })
        {
            _run.Counts.Count(QuicFault.VersionNegotiated);
            _run.Events.In(1, new Reconnect(this, (uint)reason.Code, true), 0);
            return;
        }

        if (_token is null && application.Token is { } token && Truth.IsClientDone && _run.Random.Chance(300))
        {
            _token = token;
            Truth = _run.NewTruth(Truth.Number, this);
            _run.Events.In(QuicShape.Millisecond, new Reconnect(this, _run.Version, false), 0);
            return;
        }

        IsOver = true;
    }

    public void Rebind(bool hasNewAddress)
    {
        if (Connection is { Handshake.IsConfirmed: true })
        {
            _run.Counts.Count(hasNewAddress ? QuicFault.AddressRebound : QuicFault.PortRebound);
            _run.Network.Rebind(_addresses[_address], hasNewAddress);
        }
    }

    public void Migrate()
    {
        if (Connection is { Handshake.IsConfirmed: true, IsEnding: false } && Connection.TryMigrate(_addresses[1 - _address], _run.Events.Now))
        {
            _run.Counts.Count(QuicFault.Migrated);
            _address = 1 - _address;
            Host.Pump(Connection);
        }
    }

    public void UpdateKeys()
    {
        if (Connection is { IsEnding: false } && Connection.TryUpdateKeys())
        {
            _run.Counts.Count(QuicFault.KeyUpdates);
            Host.Pump(Connection);
        }
    }

    public void Vanish()
    {
        if (Connection is { Handshake.IsComplete: true, IsEnding: false })
        {
            _run.Counts.Count(QuicFault.Vanished);
            Truth.IsVanished = true;
            Host.Restart();
        }
    }

    private sealed class Reconnect(QuicClient client, uint version, bool isAfterNegotiation) : IScheduled
    {
        public void Act(int eventId) => client.Connect(version, isAfterNegotiation);
    }
}
