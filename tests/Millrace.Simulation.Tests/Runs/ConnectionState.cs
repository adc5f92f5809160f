using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Loop;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>What a connection believes of itself, which is nobody's business but an audit's.</summary>
internal static class ConnectionState
{
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_operationsInFlight")]
    public static extern ref int OperationsInFlight(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_receiveArmed")]
    public static extern ref bool ReceiveArmed(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isStarved")]
    public static extern ref bool IsStarved(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_sendInFlight")]
    public static extern ref bool SendInFlight(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_fileReadInFlight")]
    public static extern ref bool FileReadInFlight(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_sending")]
    public static extern ref OutputBatch? Sending(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_sendRetryMs")]
    public static extern ref long SendRetryMs(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_lingerDeadlineMs")]
    public static extern ref long LingerDeadlineMs(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_timerMs")]
    public static extern ref long TimerMs(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_inputEnd")]
    public static extern ref ReceiveEnd InputEnd(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_read")]
    public static extern ref ReactorSignal<ReadOutcome> Read(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "get_IsWaitingIdle")]
    public static extern bool IsWaiting(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "get_IsFlushPending")]
    public static extern bool IsFlushPending(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "NearestDeadline")]
    public static extern long NearestDeadline(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_awaitingBuffer")]
    public static extern ref Queue<Connection> AwaitingBuffer(Reactor reactor);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_flushes")]
    public static extern ref FlushQueue Flushes(Reactor reactor);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_connections")]
    public static extern ref List<Connection> Flushed(FlushQueue flushes);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_bucket")]
    public static extern ref int[] Buckets(TimerWheel wheel);
}
