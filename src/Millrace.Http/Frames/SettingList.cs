using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// The parameters of a SETTINGS frame in the order in which they take effect; the last one of an identifier applies. They are not checked:
/// see <see cref="Setting.Fault"/>.
/// </summary>
internal ref struct SettingList(ReadOnlySpan<byte> payload)
{
    private ReadOnlySpan<byte> _rest = payload;

    public Setting Current { get; private set; }

    public readonly SettingList GetEnumerator() => this;

    public bool MoveNext()
    {
        Debug.Assert(_rest.Length % Setting.Size == 0);
        if (_rest.IsEmpty)
        {
            return false;
        }

        Current = new Setting(
            (SettingId)BinaryPrimitives.ReadUInt16BigEndian(_rest),
            BinaryPrimitives.ReadUInt32BigEndian(_rest[2..]));
        _rest = _rest[Setting.Size..];
        return true;
    }
}

/// <summary>One parameter of a SETTINGS frame.</summary>
internal readonly record struct Setting(SettingId Id, uint Value)
{
    /// <summary>Two bytes of identifier and four of value.</summary>
    public const int Size = 6;

    /// <summary>The error of a value that the identifier does not allow; none for unknown identifiers.</summary>
    public Http2Fault Fault => Id switch
    {
        SettingId.EnablePush or SettingId.EnableConnectProtocol or SettingId.NoRfc7540Priorities when Value > 1
            => Http2Fault.OfConnection(Http2Error.ProtocolError),
        SettingId.InitialWindowSize when Value > int.MaxValue
            => Http2Fault.OfConnection(Http2Error.FlowControlError),
        SettingId.MaxFrameSize when Value is < FrameHeader.DefaultLengthMax or > FrameHeader.LengthMax
            => Http2Fault.OfConnection(Http2Error.ProtocolError),
        _ => default,
    };
}

/// <summary>
/// The settings that the server knows: RFC 9113 section 6.5.2, RFC 8441 section 3, RFC 9218 section 2.1. Others are ignored.
/// </summary>
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
