namespace Millrace.Http;

/// <summary>The types of HTTP/2 frames, RFC 9113 section 6 and RFC 9218 section 7.1. Frames of other types are to be ignored.</summary>
internal enum FrameType : byte
{
    Data = 0x00,
    Headers = 0x01,
    Priority = 0x02,
    RstStream = 0x03,
    Settings = 0x04,
    PushPromise = 0x05,
    Ping = 0x06,
    GoAway = 0x07,
    WindowUpdate = 0x08,
    Continuation = 0x09,
    PriorityUpdate = 0x10,
}
