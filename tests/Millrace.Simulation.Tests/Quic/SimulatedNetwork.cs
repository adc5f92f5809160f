using Millrace.Quic.Connections;
using Millrace.Quic.Recovery;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>A host of the simulated network.</summary>
internal interface ISimulatedHost
{
    void Receive(Span<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn);

    /// <summary>It does not run before this time.</summary>
    long PausedUntil { get; }
}

/// <summary>
/// The network between one server and its clients: each direction of each client is a link with a delay, a bottleneck and the faults of the
/// run; a NAT before the clients translates addresses. It keeps the accounts of what the server may send to whom.
/// </summary>
internal sealed class SimulatedNetwork(SeededRandom random, QuicSwarm swarm, QuicShape shape, QuicFaultCounts counts, QuicEventQueue events)
{
    private const int BufferLength = 2048;

    public static readonly PathAddress Server = PathAddress.FromIPv4(0x0A00_0001, 443);

    /// <summary>MILLRACE_QUIC_SEED names one run: its datagrams are shown, if MILLRACE_QUIC_TRACE is set too.</summary>
    public static readonly bool IsTraced = Environment.GetEnvironmentVariable("MILLRACE_QUIC_TRACE") is not null;

    private readonly Dictionary<PathAddress, Nat> _byExternal = [];
    private readonly Dictionary<PathAddress, Nat> _byInner = [];
    private readonly Stack<Flight> _free = new();
    private ushort _nextPort = 20_000;
    private uint _nextAddress = 0x1400_0001;

    public ISimulatedHost? ServerHost { get; set; }

    /// <summary>Of all datagrams that were sent.</summary>
    public long Bytes { get; private set; }

    public AmplificationLedger Ledger { get; } = new();

    public int Mtu { get; set; } = shape.Mtu;

    /// <summary>Nothing passes before this time.</summary>
    public long BlackoutUntil { get; set; }

    /// <summary>No more faults: what is left to do must be done soon.</summary>
    public bool IsCalm { get; set; }

    /// <summary>An address that nobody has, as a sender of forged datagrams uses it.</summary>
    public PathAddress NewVictim() => PathAddress.FromIPv4(0x6000_0000 + _nextAddress++, _nextPort++);

    public void AddClient(in PathAddress inner, ISimulatedHost host)
    {
        Nat nat = new(host, inner);
        _byInner[inner] = nat;
        Rebind(nat, hasNewAddress: true);
    }

    public void Rebind(in PathAddress inner, bool hasNewAddress) => Rebind(_byInner[inner], hasNewAddress);

    public PathAddress ExternalOf(in PathAddress inner) => _byInner[inner].External;

    public void SendFromClient(in PathAddress inner, ReadOnlySpan<byte> datagram, EcnMark ecn)
    {
        Nat nat = _byInner[inner];
        if (!IsCalm && swarm.Strikes(QuicFault.Hijacked, random))
        {
            counts.Count(QuicFault.Hijacked);
            Flight copy = NewFlight(datagram, ecn, nat.External, Server, ServerHost!);
            copy.From = NewVictim();
            copy.Ecn = swarm.Has(QuicFault.EcnLost) ? EcnMark.NotEct : ecn;
            copy.Proves = nat.HasReceived ? nat.External : null;
            events.In(Math.Max(1, shape.Delay - 1_000), copy, 0);
        }

        Flight flight = NewFlight(datagram, ecn, nat.External, Server, ServerHost!);
        flight.Proves = nat.HasReceived ? nat.External : null;
        Transmit(flight, nat.Up);
    }

    public void SendFromServer(in PathAddress to, ReadOnlySpan<byte> datagram, EcnMark ecn)
    {
        Ledger.OnSent(to, datagram.Length);
        if (_byExternal.TryGetValue(to, out Nat? nat))
        {
            Flight flight = NewFlight(datagram, ecn, Server, to, nat.Host);
            Transmit(flight, nat.Down);
        }
    }

    /// <summary>A datagram that no client sent.</summary>
    public void Forge(in PathAddress from, ReadOnlySpan<byte> datagram) =>
        events.In(shape.Delay, NewFlight(datagram, EcnMark.NotEct, from, Server, ServerHost!), 0);

    private void Rebind(Nat nat, bool hasNewAddress)
    {
        _byExternal.Remove(nat.External);
        nat.External = hasNewAddress
            ? PathAddress.FromIPv4(_nextAddress++, _nextPort++)
            : nat.External with { Port = _nextPort++ };
        nat.HasReceived = false;
        _byExternal[nat.External] = nat;
    }

    private void Transmit(Flight flight, Link link)
    {
        Bytes += flight.Length;
        Trace("sends", flight);
        if (IsDropped(flight, link))
        {
            Trace("loses", flight);
            Free(flight);
            return;
        }

        long at = link.Depart(events.Now, flight.Length, shape);
        if (at < 0)
        {
            counts.Count(QuicFault.QueueFull);
            Free(flight);
            return;
        }

        at += shape.Delay + (shape.Jitter == 0 ? 0 : random.Below((int)Math.Min(shape.Jitter, int.MaxValue)));
        Mark(flight, link);
        if (!IsCalm)
        {
            Damage(flight);
            if (swarm.Strikes(QuicFault.Reordered, random))
            {
                counts.Count(QuicFault.Reordered);
                at += random.Below((int)shape.ReorderDelay);
            }

            Repeat(flight, at);
        }

        events.At(at, flight, 0);
    }

    private bool IsDropped(Flight flight, Link link)
    {
        if (flight.Length > Mtu)
        {
            counts.Count(QuicFault.TooLarge);
            return true;
        }

        if (events.Now < BlackoutUntil)
        {
            counts.Count(QuicFault.Blackout);
            return true;
        }

        if (IsCalm)
        {
            return false;
        }

        if (link.BurstLeft > 0 && events.Now < link.BurstEndsAt)
        {
            link.BurstLeft--;
            return true;
        }

        if (swarm.Strikes(QuicFault.Lost, random))
        {
            counts.Count(QuicFault.Lost);
            return true;
        }

        if (swarm.Has(QuicFault.BurstLost) && random.Chance(5))
        {
            counts.Count(QuicFault.BurstLost);
            link.BurstLeft = random.Between(1, 12);
            link.BurstEndsAt = events.Now + (200 * QuicShape.Millisecond);
            return true;
        }

        if (swarm.Has(QuicFault.EcnLost) && flight.Ecn != EcnMark.NotEct)
        {
            counts.Count(QuicFault.EcnLost);
            return true;
        }

        return false;
    }

    private void Mark(Flight flight, Link link)
    {
        if (flight.Ecn == EcnMark.NotEct)
        {
            return;
        }

        if (swarm.Has(QuicFault.Bleached))
        {
            counts.Count(QuicFault.Bleached);
            flight.Ecn = EcnMark.NotEct;
        }
        else if ((!IsCalm && swarm.Strikes(QuicFault.MarkedCe, random)) || link.IsQueueLong(events.Now, shape))
        {
            counts.Count(QuicFault.MarkedCe);
            flight.Ecn = EcnMark.Ce;
        }
    }

    private void Damage(Flight flight)
    {
        if (swarm.Strikes(QuicFault.Corrupted, random))
        {
            counts.Count(QuicFault.Corrupted);
            for (int i = random.Between(1, 3); i > 0; i--)
            {
                flight.Bytes[random.Below(flight.Length)] ^= (byte)(1 << random.Below(8));
            }
        }

        if (swarm.Strikes(QuicFault.Truncated, random))
        {
            counts.Count(QuicFault.Truncated);
            flight.Length = random.Below(flight.Length) + 1;
        }
    }

    private void Repeat(Flight flight, long at)
    {
        if (swarm.Strikes(QuicFault.Duplicated, random))
        {
            counts.Count(QuicFault.Duplicated);
            for (int i = random.Pick<int>(1, 1, 1, 3); i > 0; i--)
            {
                Flight copy = NewFlight(flight.Bytes.AsSpan(0, flight.Length), flight.Ecn, flight.From, flight.To, flight.Host);
                copy.Proves = flight.Proves;
                events.At(at + random.Pick<int>(0, 1_000, 10_000_000, 900_000_000), copy, 0);
            }
        }

        if (swarm.Strikes(QuicFault.Noise, random))
        {
            counts.Count(QuicFault.Noise);
            Span<byte> bytes = stackalloc byte[random.Between(1, 1300)];
            for (int i = 0; i < bytes.Length; i++)
            {
                bytes[i] = (byte)random.Next();
            }

            // Half of the noise looks like a packet of this connection.
            int kept = random.Chance(500) ? Math.Min(Math.Min(bytes.Length, flight.Length), random.Between(1, 30)) : 0;
            flight.Bytes.AsSpan(0, kept).CopyTo(bytes);
            events.At(at, NewFlight(bytes, EcnMark.NotEct, flight.From, flight.To, flight.Host), 0);
        }
    }

    private void Arrive(Flight flight)
    {
        if (flight.Host.PausedUntil > events.Now)
        {
            events.At(flight.Host.PausedUntil, flight, 0);
            return;
        }

        Trace("receives", flight);
        Span<byte> datagram = flight.Bytes.AsSpan(0, flight.Length);
        if (flight.To == Server)
        {
            Ledger.OnReceived(flight.From, flight.Length, flight.Proves);
            flight.Host.Receive(datagram, flight.From, Server, flight.Ecn);
        }
        else if (_byExternal.TryGetValue(flight.To, out Nat? nat))
        {
            // To an address that a NAT has given up nothing arrives.
            nat.HasReceived = true;
            nat.Host.Receive(datagram, Server, nat.Inner, flight.Ecn);
        }

        Free(flight);
    }

    private Flight NewFlight(ReadOnlySpan<byte> datagram, EcnMark ecn, in PathAddress from, in PathAddress to, ISimulatedHost host)
    {
        Flight flight = _free.TryPop(out Flight? free) ? free : new Flight(this);
        datagram.CopyTo(flight.Bytes);
        flight.Length = datagram.Length;
        flight.Ecn = ecn;
        flight.From = from;
        flight.To = to;
        flight.Host = host;
        flight.Proves = null;
        return flight;
    }

    private void Trace(string what, Flight flight)
    {
        if (IsTraced)
        {
            string way = flight.To == Server ? $"{flight.From.Low & 0xFFFFFF:x}:{flight.From.Port} ->" : $"{flight.To.Low & 0xFFFFFF:x}:{flight.To.Port} <-";
            Console.WriteLine($"{(events.Now / 1e6) - 3_600_000,12:F3} {way} {what} {flight.Length} {flight.Bytes[0]:x2} {flight.Ecn}");
        }
    }

    private void Free(Flight flight) => _free.Push(flight);

    /// <summary>A datagram on its way.</summary>
    private sealed class Flight(SimulatedNetwork network) : IScheduled
    {
        public readonly byte[] Bytes = new byte[BufferLength];

        public int Length { get; set; }

        public EcnMark Ecn { get; set; }

        public PathAddress From { get; set; }

        public PathAddress To { get; set; }

        public ISimulatedHost Host { get; set; } = null!;

        /// <summary>The address at which its sender had received a datagram before: a response to a challenge proves it from anywhere.</summary>
        public PathAddress? Proves { get; set; }

        public void Act(int eventId) => network.Arrive(this);
    }

    private sealed class Nat(ISimulatedHost host, PathAddress inner)
    {
        public ISimulatedHost Host { get; } = host;

        public PathAddress Inner { get; } = inner;

        public PathAddress External { get; set; }

        public bool HasReceived { get; set; }

        public Link Up { get; } = new();

        public Link Down { get; } = new();
    }

    /// <summary>One direction: a bottleneck with a queue of bounded length.</summary>
    private sealed class Link
    {
        private long _freeAt;

        public int BurstLeft { get; set; }

        public long BurstEndsAt { get; set; }

        /// <summary>When the last byte has left; below 0: the queue is full.</summary>
        public long Depart(long now, int length, QuicShape shape)
        {
            if (shape.BytesPerSecond == 0)
            {
                return now;
            }

            long backlog = Math.Max(0, _freeAt - now);
            if (backlog * shape.BytesPerSecond / QuicShape.Second > shape.QueueBytes)
            {
                return -1;
            }

            _freeAt = Math.Max(now, _freeAt) + (length * QuicShape.Second / shape.BytesPerSecond);
            return _freeAt;
        }

        public bool IsQueueLong(long now, QuicShape shape) =>
            shape.BytesPerSecond != 0 && (_freeAt - now) * shape.BytesPerSecond / QuicShape.Second > shape.QueueBytes / 2;
    }
}
