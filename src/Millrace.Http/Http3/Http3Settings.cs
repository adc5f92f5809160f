namespace Millrace.Http;

/// <summary>
/// The settings of one end of a connection that this library knows: RFC 9114 section 7.2.4.1, RFC 9204 section 5, RFC 9220 section 3.
/// Others are ignored.
/// </summary>
internal readonly record struct Http3Settings()
{
    /// <summary>The maximum size of the dynamic table of this end's decoder; 0 forbids it.</summary>
    public long TableBytesMax { get; init; }

    /// <summary>How many streams may wait for entries of the table at once.</summary>
    public long BlockedStreamsMax { get; init; }

    /// <summary>The advised limit on a section: names, values, and 32 bytes for each field. <see cref="long.MaxValue"/>: none.</summary>
    public long SectionBytesMax { get; init; } = long.MaxValue;

    /// <summary>Whether clients may ask for tunnels by extended CONNECT.</summary>
    public bool EnablesConnect { get; init; }

    /// <summary>Reads the payload of a SETTINGS frame. False with the code of the connection's error.</summary>
    public static bool TryParse(ReadOnlySpan<byte> payload, out Http3Settings settings, out long error)
    {
        settings = new Http3Settings();
        uint seen = 0;
        int at = 0;
        var reader = default(Http3IntegerReader);
        while (at < payload.Length)
        {
            // Section 7.1: a payload that ends within a field is a frame error.
            if (!reader.TryRead(payload, ref at, out long id) || !reader.TryRead(payload, ref at, out long value))
            {
                error = Http3Error.FrameError;
                return false;
            }

            if (id > (long)Http3SettingId.EnableConnectProtocol)
            {
                continue;
            }

            uint bit = 1U << (int)id;
            if ((seen & bit) != 0 || !settings.TrySet((Http3SettingId)id, value, out settings))
            {
                error = Http3Error.SettingsError;
                return false;
            }

            seen |= bit;
        }

        error = Http3Error.None;
        return true;
    }

    private bool TrySet(Http3SettingId id, long value, out Http3Settings settings)
    {
        settings = id switch
        {
            Http3SettingId.TableBytesMax => this with { TableBytesMax = value },
            Http3SettingId.SectionBytesMax => this with { SectionBytesMax = value },
            Http3SettingId.BlockedStreamsMax => this with { BlockedStreamsMax = value },
            Http3SettingId.EnableConnectProtocol => this with { EnablesConnect = value == 1 },
            _ => this,
        };

        // Section 11.2.2: the settings of HTTP/2 without a counterpart are errors.
        return id is Http3SettingId.TableBytesMax or Http3SettingId.SectionBytesMax or Http3SettingId.BlockedStreamsMax
            || (id == Http3SettingId.EnableConnectProtocol && value <= 1);
    }
}

/// <summary>The identifiers of the known settings.</summary>
internal enum Http3SettingId : long
{
    /// <summary>SETTINGS_QPACK_MAX_TABLE_CAPACITY.</summary>
    TableBytesMax = 0x01,

    /// <summary>SETTINGS_MAX_FIELD_SECTION_SIZE.</summary>
    SectionBytesMax = 0x06,

    /// <summary>SETTINGS_QPACK_BLOCKED_STREAMS.</summary>
    BlockedStreamsMax = 0x07,

    /// <summary>SETTINGS_ENABLE_CONNECT_PROTOCOL.</summary>
    EnableConnectProtocol = 0x08,
}
