using System.Globalization;
using System.Text;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>What a network and its hosts do to QUIC.</summary>
internal enum QuicFault
{
    /// <summary>A datagram is lost.</summary>
    Lost,

    /// <summary>Several datagrams in a row are lost.</summary>
    BurstLost,

    /// <summary>The bottleneck's queue is full.</summary>
    QueueFull,

    /// <summary>A datagram is overtaken.</summary>
    Reordered,

    /// <summary>A datagram arrives twice, or some more times, perhaps much later.</summary>
    Duplicated,

    /// <summary>Bits of a datagram are flipped.</summary>
    Corrupted,

    /// <summary>A datagram arrives without its end.</summary>
    Truncated,

    /// <summary>A datagram of random bytes arrives.</summary>
    Noise,

    /// <summary>The path carries no datagrams above a size, and says nothing.</summary>
    TooLarge,

    /// <summary>The path carries smaller datagrams than before.</summary>
    MtuShrinks,

    /// <summary>A NAT gives the client another port.</summary>
    PortRebound,

    /// <summary>A NAT gives the client another address.</summary>
    AddressRebound,

    /// <summary>The client moves to another of its addresses.</summary>
    Migrated,

    /// <summary>Somebody repeats a client's datagram from an address that is not the client's, and is faster.</summary>
    Hijacked,

    /// <summary>Somebody sends Initial packets from addresses of others.</summary>
    Spoofed,

    /// <summary>A datagram is marked: congestion was experienced.</summary>
    MarkedCe,

    /// <summary>ECN marks are removed.</summary>
    Bleached,

    /// <summary>Datagrams with ECN marks are lost.</summary>
    EcnLost,

    /// <summary>Nothing passes for a while.</summary>
    Blackout,

    /// <summary>The path's delay changes.</summary>
    DelayChanged,

    /// <summary>The server loses its state, and answers with stateless resets.</summary>
    ServerRestarted,

    /// <summary>A host does not run for a while: its timers and datagrams are late.</summary>
    Paused,

    /// <summary>Every client has to prove its address by a Retry.</summary>
    Retry,

    /// <summary>The client begins with a version that the server does not have.</summary>
    VersionNegotiated,

    /// <summary>Both ends update their keys often.</summary>
    KeyUpdates,

    /// <summary>Streams are reset by their sender.</summary>
    StreamReset,

    /// <summary>Streams are given up by their reader.</summary>
    StopSending,

    /// <summary>A reader pauses.</summary>
    SlowReader,

    /// <summary>An application closes in the middle.</summary>
    ClosedEarly,

    /// <summary>A client disappears without a word.</summary>
    Vanished,

    /// <summary>A TLS handshake fails.</summary>
    HandshakeFailed,
}

/// <summary>How often each kind of fault was injected.</summary>
internal sealed class QuicFaultCounts
{
    public static readonly int Kinds = Enum.GetValues<QuicFault>().Length;

    private readonly long[] _counts = new long[Kinds];

    public void Count(QuicFault fault) => _counts[(int)fault]++;

    public void Add(QuicFaultCounts other)
    {
        for (int i = 0; i < Kinds; i++)
        {
            _counts[i] += other._counts[i];
        }
    }

    public long this[QuicFault fault] => _counts[(int)fault];

    public override string ToString()
    {
        var text = new StringBuilder();
        for (int i = 0; i < Kinds; i++)
        {
            text.Append(CultureInfo.InvariantCulture, $"  {(QuicFault)i,-18} {_counts[i],14:N0}\n");
        }

        return text.ToString();
    }
}

/// <summary>Which faults a run has, and how often: each run draws its own subset.</summary>
internal sealed class QuicSwarm
{
    private readonly int[] _ratesPerMille = new int[QuicFaultCounts.Kinds];

    public QuicSwarm(SeededRandom random)
    {
        int subsetPerMille = random.Pick<int>(0, 100, 250, 250, 500);
        for (int i = 0; i < _ratesPerMille.Length; i++)
        {
            bool isDrawn = random.Chance(subsetPerMille);
            int rate = random.Pick<int>(2, 10, 30, 100);
            _ratesPerMille[i] = isDrawn ? rate : 0;
        }
    }

    public int RateOf(QuicFault fault) => _ratesPerMille[(int)fault];

    public bool Has(QuicFault fault) => _ratesPerMille[(int)fault] > 0;

    public bool Strikes(QuicFault fault, SeededRandom random) =>
        _ratesPerMille[(int)fault] > 0 && random.Chance(_ratesPerMille[(int)fault]);
}
