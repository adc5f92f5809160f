using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.Engine.Loop;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>The queues of a reactor, which are nobody's business but an audit's.</summary>
internal static class ConnectionState
{
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_awaitingBuffer")]
    public static extern ref Queue<Connection> AwaitingBuffer(ReactorLoop loop);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_flushes")]
    public static extern ref List<Connection> Flushes(ReactorLoop loop);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_index")]
    public static extern ref int[] Index(TimerQueue timers);
}
