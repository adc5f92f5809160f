namespace Millrace.Server.AccessLog.Formats;

/// <summary>
/// The time in NCSA formats, in the local time zone: <c>10/Oct/2000:13:55:36 -0700</c>. Formatted once per second. Not thread-safe.
/// </summary>
internal sealed class LineTime
{
    private readonly LineBuffer _text = new();
    private long _second = -1;

    private static ReadOnlySpan<byte> Months => "JanFebMarAprMayJunJulAugSepOctNovDec"u8;

    public ReadOnlySpan<byte> At(DateTime utc)
    {
        long second = utc.Ticks / TimeSpan.TicksPerSecond;
        if (second != _second)
        {
            _second = second;
            Write(utc);
        }

        return _text.Bytes;
    }

    private void Write(DateTime utc)
    {
        TimeSpan offset = TimeZoneInfo.Local.GetUtcOffset(utc);
        DateTime local = utc + offset;
        _text.Clear();
        _text.AddNumber(local.Day, 2);
        _text.Add((byte)'/');
        _text.Add(Months.Slice(3 * (local.Month - 1), 3));
        _text.Add((byte)'/');
        _text.AddNumber(local.Year, 4);
        AddClock(_text, local);
        _text.Add(offset < TimeSpan.Zero ? " -"u8 : " +"u8);
        int minutes = (int)Math.Abs(offset.TotalMinutes);
        _text.AddNumber(minutes / 60, 2);
        _text.AddNumber(minutes % 60, 2);
    }

    private static void AddClock(LineBuffer text, DateTime time)
    {
        text.Add((byte)':');
        text.AddNumber(time.Hour, 2);
        text.Add((byte)':');
        text.AddNumber(time.Minute, 2);
        text.Add((byte)':');
        text.AddNumber(time.Second, 2);
    }
}
