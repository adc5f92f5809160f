namespace Millrace.Http.Tests;

/// <summary>RFC 9113 section 6.5.2; RFC 8441 section 3; RFC 9218 section 2.1.</summary>
public class SettingTests
{
    [Theory]
    [InlineData(SettingId.EnablePush, 2, Http2Error.ProtocolError)]
    [InlineData(SettingId.EnableConnectProtocol, 2, Http2Error.ProtocolError)]
    [InlineData(SettingId.NoRfc7540Priorities, 2, Http2Error.ProtocolError)]
    [InlineData(SettingId.InitialWindowSize, 0x8000_0000, Http2Error.FlowControlError)]
    [InlineData(SettingId.InitialWindowSize, 0xFFFF_FFFF, Http2Error.FlowControlError)]
    [InlineData(SettingId.MaxFrameSize, 16383, Http2Error.ProtocolError)]
    [InlineData(SettingId.MaxFrameSize, 1 << 24, Http2Error.ProtocolError)]
    internal void A_value_that_the_setting_does_not_allow_ends_the_connection(SettingId id, uint value, Http2Error error)
    {
        Assert.Equal(Http2Fault.OfConnection(error), Read(new Setting(SettingId.HeaderTableSize, 1), new Setting(id, value)));
        Assert.Equal(Http2Fault.OfConnection(error), Read(new Setting(id, value), new Setting(SettingId.HeaderTableSize, 1)));
    }

    [Theory]
    [InlineData(SettingId.HeaderTableSize, 0xFFFF_FFFF)]
    [InlineData(SettingId.EnablePush, 0)]
    [InlineData(SettingId.EnablePush, 1)]
    [InlineData(SettingId.MaxConcurrentStreams, 0)]
    [InlineData(SettingId.InitialWindowSize, 0)]
    [InlineData(SettingId.InitialWindowSize, 0x7FFF_FFFF)]
    [InlineData(SettingId.MaxFrameSize, 16384)]
    [InlineData(SettingId.MaxFrameSize, (1 << 24) - 1)]
    [InlineData(SettingId.MaxHeaderListSize, 0)]
    [InlineData(SettingId.NoRfc7540Priorities, 1)]
    internal void The_values_at_the_edges_are_allowed(SettingId id, uint value) => Assert.True(Read(new Setting(id, value)).IsNone);

    // Section 6.5.2: an endpoint that receives a SETTINGS frame with any unknown identifier MUST ignore that setting.
    [Fact]
    public void Unknown_settings_are_given_and_allowed() => Assert.True(Read(new Setting((SettingId)0xABCD, uint.MaxValue)).IsNone);

    // Section 6.5.3: the values MUST be processed in the order they appear.
    [Fact]
    public void Settings_are_given_in_their_order_repeated_ones_too()
    {
        Setting[] settings = [new(SettingId.InitialWindowSize, 1), new(SettingId.MaxFrameSize, 16384), new(SettingId.InitialWindowSize, 2)];
        byte[] frame = new byte[FrameWriter.SettingsBytes(settings.Length)];
        FrameWriter.Settings(frame, settings);
        var read = new List<Setting>();
        foreach (Setting setting in new SettingList(frame.AsSpan(FrameHeader.Size)))
        {
            read.Add(setting);
        }

        Assert.Equal(settings, read);
    }

    private static Http2Fault Read(params Setting[] settings)
    {
        byte[] payload = [.. settings.SelectMany(setting => (byte[])
        [
            (byte)((int)setting.Id >> 8), (byte)setting.Id,
            (byte)(setting.Value >> 24), (byte)(setting.Value >> 16), (byte)(setting.Value >> 8), (byte)setting.Value,
        ])];
        foreach (Setting setting in new SettingList(payload))
        {
            if (!setting.Fault.IsNone)
            {
                return setting.Fault;
            }
        }

        return default;
    }
}
