using Millrace.Engine;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// Where the body of an upstream's response goes, for a client that gets its bytes unchanged: the kernel can then move them. Implemented by
/// the session's part of the request. Reactor thread.
/// </summary>
internal interface IBodyDestination
{
    Connection Connection { get; }

    /// <summary>How many bytes the client accepts now, if they may be sent before anything else.</summary>
    long RoomBytes { get; }

    /// <summary>Writes what goes before the next bytes of the body: the header of a frame. Changes nothing.</summary>
    /// <param name="header">Room for it.</param>
    /// <param name="remaining">The bytes of the body that follow.</param>
    /// <param name="bytes">The bytes at hand; set to those of the frame.</param>
    /// <returns>The bytes of the header; 0 for none.</returns>
    int Frame(Span<byte> header, long remaining, ref int bytes);

    /// <summary>The client has got bytes, in frames, that were never available.</summary>
    void OnMoved(int bytes, bool isLast);
}
