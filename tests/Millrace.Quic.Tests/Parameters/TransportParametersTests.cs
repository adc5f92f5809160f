using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;

namespace Millrace.Quic.Tests.Parameters;

public class TransportParametersTests
{
    private static readonly byte[] Token = [.. Enumerable.Range(1, 16).Select(i => (byte)i)];

    [Fact]
    [Trait("Rfc", "9000-18.2")]
    public void Absent_parameters_have_their_defaults()
    {
        Assert.True(TransportParameters.TryDecode([], fromServer: true, out TransportParameters parameters, out QuicError? error));
        Assert.Null(error);
        Assert.Equal(0, parameters.MaxIdleTimeoutMs);
        Assert.Equal(65527, parameters.MaxUdpPayloadSize);
        Assert.Equal(0, parameters.InitialMaxData);
        Assert.Equal(0, parameters.InitialMaxStreamsBidi);
        Assert.Equal(3, parameters.AckDelayExponent);
        Assert.Equal(25, parameters.MaxAckDelayMs);
        Assert.Equal(2, parameters.ActiveConnectionIdLimit);
        Assert.False(parameters.DisableActiveMigration);
        Assert.Null(parameters.OriginalDestinationConnectionId);
        Assert.Null(parameters.InitialSourceConnectionId);
        Assert.Null(parameters.RetrySourceConnectionId);
        Assert.Null(parameters.StatelessResetToken);
        Assert.Null(parameters.PreferredAddress);
        Assert.Null(parameters.VersionInformation);
    }

    [Fact]
    [Trait("Rfc", "9000-18")]
    public void What_is_encoded_is_decoded()
    {
        TransportParameters parameters = Sample();
        byte[] encoded = Encode(parameters);

        Assert.True(TransportParameters.TryDecode(encoded, fromServer: true, out TransportParameters decoded, out _));
        foreach (var property in typeof(TransportParameters).GetProperties())
        {
            Assert.Equivalent(property.GetValue(parameters), property.GetValue(decoded), strict: true);
        }

        Assert.Equal(encoded, Encode(decoded));
    }

    [Fact]
    public void The_longest_parameters_fit_into_the_length_that_is_promised()
    {
        var id = new ConnectionId(new byte[20]);
        var parameters = new TransportParameters
        {
            OriginalDestinationConnectionId = id,
            InitialSourceConnectionId = id,
            RetrySourceConnectionId = id,
            StatelessResetToken = Token,
            MaxIdleTimeoutMs = VariableLengthInteger.Max,
            MaxUdpPayloadSize = VariableLengthInteger.Max,
            InitialMaxData = VariableLengthInteger.Max,
            InitialMaxStreamDataBidiLocal = VariableLengthInteger.Max,
            InitialMaxStreamDataBidiRemote = VariableLengthInteger.Max,
            InitialMaxStreamDataUni = VariableLengthInteger.Max,
            InitialMaxStreamsBidi = TransportParameters.MaximumStreams,
            InitialMaxStreamsUni = TransportParameters.MaximumStreams,
            AckDelayExponent = 20,
            MaxAckDelayMs = (1 << 14) - 1,
            DisableActiveMigration = true,
            PreferredAddress = new PreferredAddress(new byte[6], new byte[18], id, Token),
            ActiveConnectionIdLimit = VariableLengthInteger.Max,
            VersionInformation = new VersionInformation(1, [.. Enumerable.Range(1, 100).Select(i => (uint)i)]),
        };

        byte[] encoded = Encode(parameters, ulong.MaxValue);
        Assert.True(TransportParameters.TryDecode(encoded, fromServer: true, out TransportParameters decoded, out _));
        Assert.Equal(VariableLengthInteger.Max, decoded.InitialMaxStreamDataUni);
        Assert.Equal(TransportParametersWriter.VersionsMaximum, decoded.VersionInformation!.Available.Length);
    }

    [Theory]
    [Trait("Rfc", "9000-18.1")]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(0x2000_0000_0000_0000)]
    [InlineData(ulong.MaxValue)]
    public void A_reserved_parameter_is_sent_and_ignored(ulong grease)
    {
        byte[] encoded = Encode(new TransportParameters(), grease);

        Assert.True(VariableLengthInteger.TryRead(encoded, out long id, out int count));
        Assert.Equal(27, id % 31);
        Assert.Equal((byte)(grease >> 61), encoded[count]);
        Assert.Equal(count + 1 + encoded[count], encoded.Length);
        Assert.True(TransportParameters.TryDecode(encoded, fromServer: false, out _, out _));
    }

    [Theory]
    [Trait("Rfc", "9000-7.4")]
    [InlineData("01", "a parameter without a length")]
    [InlineData("0102", "a value that is not there")]
    [InlineData("01027F", "a value that is cut off")]
    [InlineData("01FFFFFFFFFFFFFFFF00", "a length of 2^62-1")]
    [InlineData("010100" + "010100", "a repeated parameter")]
    [InlineData("1B0100" + "1B0100", "a repeated unknown parameter")]
    [InlineData("0C00" + "0C00", "a repeated empty parameter")]
    [InlineData("0100", "an integer without bytes")]
    [InlineData("010140", "an integer that is cut off")]
    [InlineData("01020000", "an integer with a byte more")]
    [InlineData("030244AF", "max_udp_payload_size of 1199")]
    [InlineData("0808D000000000000001", "more streams than 2^60")]
    [InlineData("0908D000000000000001", "more streams than 2^60")]
    [InlineData("0A0115", "ack_delay_exponent of 21")]
    [InlineData("0A08FFFFFFFFFFFFFFFF", "ack_delay_exponent of 2^62-1")]
    [InlineData("0B0480004000", "max_ack_delay of 2^14")]
    [InlineData("0B08FFFFFFFFFFFFFFFF", "max_ack_delay of 2^62-1")]
    [InlineData("0C0100", "disable_active_migration with a value")]
    [InlineData("0E0101", "active_connection_id_limit of 1")]
    [InlineData("0015000102030405060708090A0B0C0D0E0F1011121314", "an id of 21 bytes")]
    [InlineData("0F15000102030405060708090A0B0C0D0E0F1011121314", "an id of 21 bytes")]
    [InlineData("1015000102030405060708090A0B0C0D0E0F1011121314", "an id of 21 bytes")]
    [InlineData("020F0102030405060708090A0B0C0D0E0F", "a token of 15 bytes")]
    [InlineData("1100", "version_information without a version")]
    [InlineData("110500000001FF", "version_information of 5 bytes")]
    [InlineData("110400000000", "a chosen version of 0")]
    [InlineData("11080000000100000000", "an available version of 0")]
    public void Parameters_that_are_not_valid_are_an_error(string encoded, string why)
    {
        Assert.False(TransportParameters.TryDecode(Convert.FromHexString(encoded), fromServer: true, out _, out QuicError? error), why);
        Assert.True(error!.Is(TransportErrorCode.TransportParameterError));
    }

    [Theory]
    [Trait("Rfc", "9000-18.2")]
    [InlineData("030244B0", "max_udp_payload_size of 1200")]
    [InlineData("0808D000000000000000", "2^60 streams")]
    [InlineData("0A0114", "ack_delay_exponent of 20")]
    [InlineData("0B027FFF", "max_ack_delay of 2^14-1")]
    [InlineData("0E0102", "active_connection_id_limit of 2")]
    [InlineData("0F00", "an empty id")]
    [InlineData("01024001", "an integer in more bytes than it needs")]
    [InlineData("400101" + "05", "an id in more bytes than it needs")]
    [InlineData("1B0100" + "7FFF00", "unknown parameters")]
    [InlineData("110400000001", "no available versions")]
    public void Parameters_at_their_limits_are_valid(string encoded, string why)
        => Assert.True(TransportParameters.TryDecode(Convert.FromHexString(encoded), fromServer: true, out _, out _), why);

    [Theory]
    [Trait("Rfc", "9000-18.2")]
    [InlineData("0000")]
    [InlineData("02100102030405060708090A0B0C0D0E0F10")]
    [InlineData("1000")]
    public void Only_a_server_sends_what_names_its_ids(string encoded)
    {
        Assert.True(TransportParameters.TryDecode(Convert.FromHexString(encoded), fromServer: true, out _, out _));
        Assert.False(TransportParameters.TryDecode(Convert.FromHexString(encoded), fromServer: false, out _, out _));
    }

    [Fact]
    [Trait("Rfc", "9000-18.2")]
    public void A_preferred_address_has_an_id_and_comes_of_servers_only()
    {
        foreach ((int idLength, int more, bool isValid) in new[] { (0, 0, false), (1, 0, true), (20, 0, true), (21, 0, false), (8, 1, false), (8, -1, false) })
        {
            var value = new byte[41 + idLength + more];
            value[24] = (byte)idLength;
            byte[] encoded = [0x0D, (byte)value.Length, .. value];

            Assert.Equal(isValid, TransportParameters.TryDecode(encoded, fromServer: true, out _, out _));
            Assert.False(TransportParameters.TryDecode(encoded, fromServer: false, out _, out _));
        }

        Assert.False(TransportParameters.TryDecode([0x0D, 3, 1, 2, 3], fromServer: true, out _, out _));
    }

    [Theory]
    [Trait("Rfc", "9000-18.2")]
    [InlineData(0, false)]
    [InlineData(1, true)]
    public void A_server_with_an_empty_id_has_no_preferred_address(int idLength, bool isValid)
    {
        TransportParameters parameters = Sample();
        parameters.InitialSourceConnectionId = new ConnectionId(new byte[idLength]);
        Assert.Equal(isValid, TransportParameters.TryDecode(Encode(parameters), fromServer: true, out _, out QuicError? error));
        Assert.True(isValid || error!.Is(TransportErrorCode.TransportParameterError));
        parameters.PreferredAddress = null;
        Assert.True(TransportParameters.TryDecode(Encode(parameters), fromServer: true, out _, out _));
    }

    [Fact]
    [Trait("Rfc", "9368-4")]
    public void A_client_lists_the_version_that_it_chose()
    {
        byte[] without = Convert.FromHexString("1108" + "00000001" + "6B3343CF");
        byte[] with = Convert.FromHexString("110C" + "00000001" + "6B3343CF" + "00000001");

        Assert.True(TransportParameters.TryDecode(without, fromServer: true, out _, out _));
        Assert.False(TransportParameters.TryDecode(without, fromServer: false, out _, out _));
        Assert.True(TransportParameters.TryDecode(with, fromServer: false, out TransportParameters parameters, out _));
        Assert.Equal(1u, parameters.VersionInformation!.Chosen);
        Assert.Equal([QuicVersion.Version2, QuicVersion.Version1], parameters.VersionInformation.Available);
    }

    [Fact]
    public void Very_many_unknown_parameters_are_read_in_little_time()
    {
        byte[] encoded = [.. Enumerable.Range(0, 20_000).SelectMany(i => new byte[] { 0x80, 1, (byte)(i >> 8), (byte)i, 0 })];

        Assert.True(TransportParameters.TryDecode(encoded, fromServer: true, out _, out _));
    }

    private static TransportParameters Sample() => new()
    {
        OriginalDestinationConnectionId = new ConnectionId([1, 2, 3, 4, 5, 6, 7, 8]),
        InitialSourceConnectionId = new ConnectionId([3]),
        RetrySourceConnectionId = new ConnectionId([9, 9]),
        StatelessResetToken = Token,
        MaxIdleTimeoutMs = 30_000,
        MaxUdpPayloadSize = 1452,
        InitialMaxData = 1 << 20,
        InitialMaxStreamDataBidiLocal = 1,
        InitialMaxStreamDataBidiRemote = 2,
        InitialMaxStreamDataUni = 3,
        InitialMaxStreamsBidi = 100,
        InitialMaxStreamsUni = 3,
        AckDelayExponent = 8,
        MaxAckDelayMs = 20,
        DisableActiveMigration = true,
        PreferredAddress = new PreferredAddress([1, 2, 3, 4, 5, 6], [.. Enumerable.Range(0, 18).Select(i => (byte)i)], new ConnectionId([7]), Token),
        ActiveConnectionIdLimit = 4,
        VersionInformation = new VersionInformation(QuicVersion.Version2, [QuicVersion.Version2, QuicVersion.Version1]),
    };

    private static byte[] Encode(TransportParameters parameters, ulong grease = 5)
    {
        var buffer = new byte[TransportParametersWriter.MaximumLength];
        return buffer[..parameters.Encode(buffer, grease)];
    }
}
