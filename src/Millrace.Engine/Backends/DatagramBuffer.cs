namespace Millrace.Engine.Backends;

/// <summary>
/// The layout of the buffers that messages are received into, which is io_uring's: <c>struct io_uring_recvmsg_out</c>, room for the
/// sender's address, room for control messages, payload.
/// </summary>
internal static class DatagramBuffer
{
    public const int NameOffset = 16;

    /// <summary>A <c>struct sockaddr_in6</c> has 28 bytes; with 32, what follows is aligned.</summary>
    public const int NameBytes = 32;

    public const int ControlOffset = NameOffset + NameBytes;

    /// <summary>Five numbers of 24 bytes and an address of 40 fit: the kernel sends at most four and one.</summary>
    public const int ControlBytes = 160;

    public const int PayloadOffset = ControlOffset + ControlBytes;

    /// <summary>What UDP_GRO puts together fits into one IP packet.</summary>
    public const int PayloadBytes = 64 * 1024;

    /// <summary>A multiple of a cache line.</summary>
    public const int Bytes = (PayloadOffset + PayloadBytes + 63) & -64;
}
