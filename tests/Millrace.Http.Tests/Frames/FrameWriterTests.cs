namespace Millrace.Http.Tests;

/// <summary>RFC 9113 section 6, as a server sends it.</summary>
public class FrameWriterTests
{
    private readonly byte[] _room = new byte[100];

    [Fact]
    public void Settings_are_written() => Writes(
        "00000c 04 00 00000000 0003 00000064 0006 00008000",
        FrameWriter.Settings(_room, [new(SettingId.MaxConcurrentStreams, 100), new(SettingId.MaxHeaderListSize, 32768)]));

    [Fact]
    public void Settings_without_any_are_written() => Writes("000000 04 00 00000000", FrameWriter.Settings(_room, []));

    [Fact]
    public void An_acknowledgement_of_settings_is_written() => Writes("000000 04 01 00000000", FrameWriter.SettingsAck(_room));

    [Fact]
    public void A_ping_is_written() =>
        Writes("000008 06 00 00000000 0102030405060708", FrameWriter.Ping(_room, [1, 2, 3, 4, 5, 6, 7, 8]));

    // Section 6.7: an identical payload, with the ACK flag set.
    [Fact]
    public void An_acknowledgement_of_a_ping_is_written() =>
        Writes("000008 06 01 00000000 0102030405060708", FrameWriter.PingAck(_room, [1, 2, 3, 4, 5, 6, 7, 8]));

    [Fact]
    public void A_goaway_is_written()
    {
        Writes("000008 07 00 00000000 7fffffff 00000000", FrameWriter.GoAway(_room, int.MaxValue, Http2Error.NoError));
        Writes("000008 07 00 00000000 00000005 0000000b", FrameWriter.GoAway(_room, 5, Http2Error.EnhanceYourCalm));
    }

    [Fact]
    public void A_reset_is_written() => Writes("000004 03 00 00000007 00000008", FrameWriter.RstStream(_room, 7, Http2Error.Cancel));

    [Fact]
    public void A_window_update_is_written() => Writes("000004 08 00 00000000 7fffffff", FrameWriter.WindowUpdate(_room, 0, int.MaxValue));

    [Fact]
    public void The_sizes_announced_are_those_written()
    {
        Assert.Equal(FrameWriter.SettingsAckBytes, FrameWriter.SettingsAck(_room));
        Assert.Equal(FrameWriter.PingBytes, FrameWriter.PingAck(_room, new byte[8]));
        Assert.Equal(FrameWriter.GoAwayBytes, FrameWriter.GoAway(_room, 0, Http2Error.NoError));
        Assert.Equal(FrameWriter.RstStreamBytes, FrameWriter.RstStream(_room, 1, Http2Error.NoError));
        Assert.Equal(FrameWriter.WindowUpdateBytes, FrameWriter.WindowUpdate(_room, 1, 1));
        Assert.Equal(FrameWriter.SettingsBytes(1), FrameWriter.Settings(_room, [new(SettingId.EnablePush, 0)]));
    }

    private void Writes(string hex, int bytes)
        => Assert.Equal(hex.Replace(" ", "", StringComparison.Ordinal), Convert.ToHexStringLower(_room.AsSpan(0, bytes)));
}
