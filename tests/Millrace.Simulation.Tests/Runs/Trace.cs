using System.Buffers;
using System.Globalization;
using Millrace.Simulation.Tests.Upstreams;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>What happened, as far as a reader of a failure wants to know it.</summary>
internal enum TraceEvent
{
    Connects,
    Accepted,
    Shed,
    Submits,
    Cancels,
    Completes,
    Straggles,
    PeerSends,
    PeerReads,
    PeerEnds,
    PeerResets,
    PeerVanishes,
    PeerSeesEnd,
    PeerSeesReset,
    PeerIsDone,
    ShutsDown,
    GivesUp,
    Closes,
    Breaks,
    Jumps,
    Stops,
    Fault,
    UpstreamAnswers,
}

/// <summary>
/// The last events of a run, and a digest of all of them by which two runs are compared. The events of one connection are what is
/// shown of a failure, with those of nobody in particular.
/// </summary>
internal sealed class Trace(EventQueue eventQueue) : IDisposable
{
    /// <summary>Who is meant where it is everybody: a stop, a leap of the clock.</summary>
    public const int NoConnection = -1;

    /// <summary>What the kernel does all the time, shown only where no connection is concerned.</summary>
    public const int Kernel = -2;

    private const int Kept = 64 * 1024;

    private static bool IsReplay => Environment.GetEnvironmentVariable("MILLRACE_SEED") is not null;

    /// <summary>Lines of a failure: some, or when one seed is replayed, all that are kept.</summary>
    private static readonly int Shown = IsReplay ? Kept : 60;

    private readonly (long AtMs, int Connection, TraceEvent Event, long First, long Second)[] _entries =
        ArrayPool<(long, int, TraceEvent, long, long)>.Shared.Rent(Kept);

    private readonly long _startMs = eventQueue.NowMs;
    private long _count;

    public ulong Digest { get; private set; } = 0xCBF2_9CE4_8422_2325;

    public void Note(int connection, TraceEvent what, long first = 0, long second = 0)
    {
        _entries[_count++ % Kept] = (eventQueue.NowMs, connection, what, first, second);
        Mix((ulong)eventQueue.NowMs);
        Mix(((ulong)(uint)connection << 8) | (ulong)what);
        Mix((ulong)first);
        Mix((ulong)second);
    }

    /// <summary>The last events of a connection, the oldest first; what happens again and again is one line.</summary>
    public string Of(int connection)
    {
        var lines = new Stack<string>();
        string after = "";
        int repeats = 0;
        for (long i = _count - 1; i >= Math.Max(0, _count - Kept) && lines.Count < Shown; i--)
        {
            (long atMs, int who, TraceEvent what, long first, long second) = _entries[i % Kept];
            bool isOther = who != connection && who != NoConnection && connection != NoConnection;
            if (isOther && !(IsReplay && who >= SimulatedUpstreams.FirstNumber))
            {
                continue;
            }

            string line = $"{(who < 0 ? "" : $"#{who}"),-5} {Describe(what, first, second)}";
            repeats = line == after ? repeats + 1 : 1;
            if (repeats > 1)
            {
                lines.Pop();
            }

            after = line;
            string times = repeats > 1 ? $" ({repeats} times)" : "";
            lines.Push(string.Create(CultureInfo.InvariantCulture, $"  {atMs - _startMs,9} ms  {line}{times}"));
        }

        return string.Join('\n', lines);
    }

    public void Dispose() => ArrayPool<(long, int, TraceEvent, long, long)>.Shared.Return(_entries);

    private static string Describe(TraceEvent what, long first, long second) => what switch
    {
        TraceEvent.Submits => $"submits {(Engine.Backends.OperationKind)first}, {second}",
        TraceEvent.Cancels => $"cancels {(Engine.Backends.OperationKind)first}",
        TraceEvent.Completes => $"completes {(Engine.Backends.OperationKind)first} with {second}",
        TraceEvent.Straggles => $"late completion: {(Engine.Backends.OperationKind)first} with {second}",
        TraceEvent.Fault => $"fault: {(Faults.FaultKind)first}",
        TraceEvent.GivesUp => $"gives up, with {first} ms of credit, {second} bytes acknowledged",
        TraceEvent.UpstreamAnswers => $"begins the answer to {first}, {second} bytes",
        TraceEvent.Accepted => $"accepted as descriptor {first}",
        _ => $"{what} {first}" + (second == 0 ? "" : $", {second}"),
    };

    private void Mix(ulong value) => Digest = (Digest ^ value) * 0x0000_0100_0000_01B3;
}
