namespace Millrace.Engine.Tests.Kit;

/// <summary>What one can do with a connection, by name: for who is to be refused all of it.</summary>
internal static class ConnectionMembers
{
    /// <summary>Those that only the reactor's thread has, and only while the handler runs.</summary>
    public static unsafe Dictionary<string, Action> Of(Connection connection) => new()
    {
        ["Input"] = () => _ = connection.Input.Length,
        ["ReadAsync"] = () => _ = connection.ReadAsync().AsTask(),
        ["ReadIdleAsync"] = () => _ = connection.ReadIdleAsync().AsTask(),
        ["Consume"] = () => connection.Consume(0),
        ["GetSpan"] = () => connection.GetSpan(),
        ["Advance"] = () => connection.Advance(0),
        ["Write"] = () => connection.Write("x"u8),
        ["WriteReference"] = () => connection.WriteReference(null, 0),
        ["Retract"] = () => connection.Retract(0),
        ["Flush"] = () => connection.Flush(),
        ["FlushAsync"] = () => _ = connection.FlushAsync().AsTask(),
        ["FlushAsync with a limit"] = () => _ = connection.FlushAsync(1).AsTask(),
        ["ReadFileAsync"] = () => _ = connection.ReadFileAsync(0, 0, 1).AsTask(),
        ["SetReadDeadline"] = () => connection.SetReadDeadline(TimeSpan.FromMinutes(1)),
        ["SetReadRate"] = () => connection.SetReadRate(1, TimeSpan.FromMinutes(1), TimeSpan.FromMinutes(1)),
        ["Rest"] = () => connection.WaitIdle(TimeSpan.FromMinutes(1)),
        ["AsDuplexPipe"] = () => connection.AsDuplexPipe(),
        ["AbortHandle"] = () => _ = connection.AbortHandle,
    };
}
