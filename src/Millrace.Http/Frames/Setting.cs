namespace Millrace.Http;

/// <summary>One parameter of a SETTINGS frame.</summary>
internal readonly record struct Setting(SettingId Id, uint Value)
{
    /// <summary>Two bytes of identifier and four of value.</summary>
    public const int Size = 6;

    /// <summary>What a value that the identifier does not allow is; nothing for identifiers that are not known.</summary>
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
