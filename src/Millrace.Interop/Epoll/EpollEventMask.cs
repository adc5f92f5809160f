namespace Millrace.Interop.Epoll;

/// <summary><c>EPOLL*</c>: what a descriptor is watched for, and what was seen.</summary>
[Flags]
internal enum EpollEventMask : uint
{
    None = 0,
    Readable = 0x1,

    /// <summary>Urgent bytes, at whose mark a receive stops short.</summary>
    Priority = 0x2,
    Writable = 0x4,
    Error = 0x8,
    HangUp = 0x10,

    /// <summary>The peer has sent its end.</summary>
    PeerHangUp = 0x2000,
    EdgeTriggered = 1u << 31,
}
