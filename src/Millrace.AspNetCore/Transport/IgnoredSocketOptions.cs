using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace Millrace.AspNetCore.Transport;

/// <summary>Finds options of <c>UseSockets</c> that Millrace, which has options of its own, ignores. Pure.</summary>
internal static class IgnoredSocketOptions
{
    /// <summary>The names of options that are not at their default and differ from Millrace's.</summary>
    public static IEnumerable<string> In(SocketTransportOptions sockets, MillraceTransportOptions own)
    {
        var usual = new SocketTransportOptions();
        (string Name, object? Value, object? Usual, object? Own)[] options =
        [
            (nameof(sockets.Backlog), sockets.Backlog, usual.Backlog, own.Backlog),
            (nameof(sockets.NoDelay), sockets.NoDelay, usual.NoDelay, own.NoDelay),
            (nameof(sockets.MaxReadBufferSize), sockets.MaxReadBufferSize, usual.MaxReadBufferSize, own.MaxReadBufferSize),
            (nameof(sockets.MaxWriteBufferSize), sockets.MaxWriteBufferSize, usual.MaxWriteBufferSize, own.MaxWriteBufferSize),
            (nameof(sockets.IOQueueCount), sockets.IOQueueCount, usual.IOQueueCount, null),
            (nameof(sockets.UnsafePreferInlineScheduling), sockets.UnsafePreferInlineScheduling, usual.UnsafePreferInlineScheduling,
                own.Scheduling == TransportScheduling.Inline),
            (nameof(sockets.WaitForDataBeforeAllocatingBuffer), sockets.WaitForDataBeforeAllocatingBuffer,
                usual.WaitForDataBeforeAllocatingBuffer, null),
            (nameof(sockets.CreateBoundListenSocket), sockets.CreateBoundListenSocket, usual.CreateBoundListenSocket, null),
        ];
        return from option in options
               where !Equals(option.Value, option.Usual) && !Equals(option.Value, option.Own)
               select option.Name;
    }
}
