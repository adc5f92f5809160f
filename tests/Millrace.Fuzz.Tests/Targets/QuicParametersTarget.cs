using System.Buffers.Binary;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Quic;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Transport parameters, of a client or of a server as the first byte says; they are encoded again, and then are the same.</summary>
internal sealed class QuicParametersTarget : FuzzTarget
{
    private readonly GuardedMemory _encoded = new(4096);
    private readonly GuardedMemory _written = new(4096);

    public override string Name => "quic-parameters";

    public override int InputBytesMax => 250;

    public override int OutcomesMin => 30;

    public override IReadOnlyList<string> Words =>
    [
        "\u0001\u0004\u0080\0\u0075\u0030", "\u0003\u0002\u0044\u00B0", "\u0008\u0008\u00D0\0\0\0\0\0\0\u0001", "\u000A\u0001\u0014", "\u000B\u0002\u007F\u00FF",
        "\u000C\0", "\u000E\u0001\u0002", "\u000F\u000801234567", "\0\u000801234567", "\u0010\0", "\u0002\u00100123456789abcdef",
        "\u0011\u0008\0\0\0\u0001\0\0\0\u0001", "\u001B\0",
    ];

    public override byte[] Generate(Random random) => [(byte)random.Next(2), .. QuicGenerator.Parameters(random)];

    public override string Check(ReadOnlySpan<byte> input)
    {
        bool fromServer = input.IsEmpty || (input[0] & 1) != 0;
        byte[] bytes = input.IsEmpty ? [] : input[1..].ToArray();
        string expected = ReferenceTransportParameters.Describe(bytes, fromServer);

        bool isValid = TransportParameters.TryDecode(_encoded.Copy(bytes), fromServer, out TransportParameters parameters, out QuicError? error);
        Require(isValid == error is null && error?.Is(TransportErrorCode.TransportParameterError) != false, "another error");
        Agree(expected, isValid ? Describe(parameters) : "fault", "parameters");
        if (!isValid)
        {
            return $"fault {error!.Reason}";
        }

        if (parameters.VersionInformation?.Available.Length > TransportParametersWriter.VersionsMaximum)
        {
            return "versions";
        }

        Span<byte> written = _written.Take(TransportParametersWriter.MaximumLength);
        int length = parameters.Encode(written, (ulong)bytes.Length << 56);
        Require(TransportParameters.TryDecode(written[..length], fromServer, out TransportParameters again, out _), "encoded again they are not valid");
        Agree(expected, Describe(again), "parameters encoded again");
        return string.Join(' ', expected.Split(", ").Where(pair => pair.Contains('[', StringComparison.Ordinal)).Select(pair => pair.Split('=')[0]));
    }

    /// <summary>In the words of the model.</summary>
    private static string Describe(TransportParameters parameters)
    {
        List<string> texts = [];
        Add(0, Id(parameters.OriginalDestinationConnectionId));
        Add(1, $"{parameters.MaxIdleTimeoutMs}");
        Add(2, Bytes(parameters.StatelessResetToken));
        Add(3, $"{parameters.MaxUdpPayloadSize}");
        Add(4, $"{parameters.InitialMaxData}");
        Add(5, $"{parameters.InitialMaxStreamDataBidiLocal}");
        Add(6, $"{parameters.InitialMaxStreamDataBidiRemote}");
        Add(7, $"{parameters.InitialMaxStreamDataUni}");
        Add(8, $"{parameters.InitialMaxStreamsBidi}");
        Add(9, $"{parameters.InitialMaxStreamsUni}");
        Add(10, $"{parameters.AckDelayExponent}");
        Add(11, $"{parameters.MaxAckDelayMs}");
        Add(12, parameters.DisableActiveMigration ? "[]" : null);
        Add(13, parameters.PreferredAddress is { } address ? Bytes(
            [.. address.Ipv4, .. address.Ipv6, (byte)address.ConnectionId.Length, .. address.ConnectionId.AsSpan, .. address.StatelessResetToken]) : null);
        Add(14, $"{parameters.ActiveConnectionIdLimit}");
        Add(15, Id(parameters.InitialSourceConnectionId));
        Add(16, Id(parameters.RetrySourceConnectionId));
        Add(17, parameters.VersionInformation is { } versions ? Versions(versions) : null);
        return string.Join(", ", texts);

        void Add(int id, string? value) => texts.AddRange(value is null ? [] : [$"{id}={value}"]);
    }

    private static string? Id(ConnectionId? value) => value is ConnectionId id ? $"[{id}]" : null;

    private static string? Bytes(byte[]? value) => value is null ? null : $"[{Convert.ToHexStringLower(value)}]";

    private static string Versions(VersionInformation versions)
    {
        byte[] bytes = new byte[4 * (1 + versions.Available.Length)];
        BinaryPrimitives.WriteUInt32BigEndian(bytes, versions.Chosen);
        for (int i = 0; i < versions.Available.Length; i++)
        {
            BinaryPrimitives.WriteUInt32BigEndian(bytes.AsSpan(4 * (i + 1)), versions.Available[i]);
        }

        return Bytes(bytes)!;
    }
}
