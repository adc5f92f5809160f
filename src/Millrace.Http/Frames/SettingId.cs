namespace Millrace.Http;

/// <summary>The settings a server knows: RFC 9113 section 6.5.2, RFC 8441 section 3, RFC 9218 section 2.1. Others are ignored.</summary>
internal enum SettingId : ushort
{
    HeaderTableSize = 0x01,
    EnablePush = 0x02,
    MaxConcurrentStreams = 0x03,
    InitialWindowSize = 0x04,
    MaxFrameSize = 0x05,
    MaxHeaderListSize = 0x06,
    EnableConnectProtocol = 0x08,
    NoRfc7540Priorities = 0x09,
}
