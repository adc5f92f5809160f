using Millrace.Quic.Packets;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>The faults of a run that are not those of single datagrams: they come at times of their own, until the network is calm.</summary>
internal sealed class QuicFaults : IScheduled
{
    /// <summary>So many datagrams that are lost in each direction may be all probes of a handshake, in a million of them.</summary>
    private const int UnbearablePerMille = 100;

    private readonly QuicRun _run;
    private readonly QuicHost _server;
    private readonly QuicClient[] _clients;

    public QuicFaults(QuicRun run, QuicHost server, QuicClient[] clients)
    {
        _run = run;
        _server = server;
        _clients = clients;
        int losses = run.Swarm.RateOf(QuicFault.Lost) + run.Swarm.RateOf(QuicFault.Corrupted) + run.Swarm.RateOf(QuicFault.Truncated);
        MayTimeOut = losses >= UnbearablePerMille;
        run.Events.In(Interval(), this, 0);
    }

    public bool HasRestarted { get; private set; }

    /// <summary>A server may have lost its client: it has moved more than once before the server could validate a path.</summary>
    public bool HasRebound { get; private set; }

    /// <summary>Connections may end for silence.</summary>
    public bool MayTimeOut { get; private set; }

    public void Act(int eventId)
    {
        if (_run.Network.IsCalm || Array.TrueForAll(_clients, static client => client.IsOver))
        {
            return;
        }

        Strike();
        _run.Events.In(Interval(), this, 0);
    }

    private long Interval() => _run.Random.Between(1, 200) * QuicShape.Millisecond;

    private bool Strikes(QuicFault fault) => _run.Swarm.Strikes(fault, _run.Random);

    private void Strike()
    {
        QuicClient client = _clients[_run.Random.Below(_clients.Length)];
        if (Strikes(QuicFault.PortRebound))
        {
            // A client that waits for data does not know that the server cannot reach it any more, unless it sends by itself.
            MayTimeOut |= _run.Shape.KeepAlive == 0;
            HasRebound = true;
            client.Rebind(hasNewAddress: false);
        }

        if (Strikes(QuicFault.AddressRebound))
        {
            MayTimeOut |= _run.Shape.KeepAlive == 0;
            HasRebound = true;
            client.Rebind(hasNewAddress: true);
        }

        if (Strikes(QuicFault.Migrated))
        {
            client.Migrate();
        }

        if (Strikes(QuicFault.KeyUpdates))
        {
            client.UpdateKeys();
        }

        if (Strikes(QuicFault.Vanished))
        {
            client.Vanish();
        }

        if (Strikes(QuicFault.Blackout))
        {
            long length = _run.Random.Pick<long>(50, 1_000, 7_000) * QuicShape.Millisecond;
            MayTimeOut |= length > QuicShape.Second;
            _run.Network.BlackoutUntil = _run.Events.Now + length;
        }

        if (Strikes(QuicFault.DelayChanged))
        {
            _run.Counts.Count(QuicFault.DelayChanged);
            _run.Shape.Delay = _run.Random.Pick<long>(100, 5_000, 80_000) * 1_000;
        }

        if (Strikes(QuicFault.MtuShrinks))
        {
            _run.Counts.Count(QuicFault.MtuShrinks);
            _run.Network.Mtu = Math.Max(1_200, _run.Network.Mtu - _run.Random.Between(1, 200));
        }

        StrikeHosts(client);
    }

    private void StrikeHosts(QuicClient client)
    {
        if (Strikes(QuicFault.Paused))
        {
            _run.Counts.Count(QuicFault.Paused);
            QuicHost host = _run.Random.Chance(500) ? _server : client.Host;
            host.PausedUntil = _run.Events.Now + (_run.Random.Below((int)_run.Shape.PauseMax) + 1);
        }

        if (Strikes(QuicFault.Spoofed))
        {
            _run.Counts.Count(QuicFault.Spoofed);
            Spoof();
        }

        if (!HasRestarted && Strikes(QuicFault.ServerRestarted))
        {
            _run.Counts.Count(QuicFault.ServerRestarted);
            HasRestarted = true;
            _server.Restart();
            _run.StartServer();
        }
    }

    /// <summary>An authentic Initial packet from the address of somebody who knows nothing of it.</summary>
    private void Spoof()
    {
        Span<byte> datagram = stackalloc byte[1200];
        Span<byte> id = stackalloc byte[8];
        _server.Cryptography.FillRandom(id);
        using var protector = _server.Cryptography.CreateInitialProtector(_run.Version, id, isServers: false);
        if (PacketWriter.TryBeginLong(
            datagram, PacketKind.Initial, _run.Version, new ConnectionId(id), new ConnectionId(id[..4]), default, 0, 1, out PacketWriter writer))
        {
            var frames = new Millrace.Quic.Frames.FrameWriter(writer.Frames);
            frames.TryWritePing();
            int length = writer.Finish(protector, frames.Length, datagram.Length);
            _run.Network.Forge(_run.Network.NewVictim(), datagram[..length]);
        }
    }
}
