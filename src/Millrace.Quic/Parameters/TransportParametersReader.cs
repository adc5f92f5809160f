using System.Buffers.Binary;
using Millrace.Quic.Packets;

namespace Millrace.Quic.Parameters;

/// <summary>
/// Decodes and checks a peer's transport parameters (RFC 9000, sections 7.4 and 18). What is wrong in them closes the connection with
/// TRANSPORT_PARAMETER_ERROR. Unknown parameters are ignored.
/// </summary>
internal ref struct TransportParametersReader
{
    private const int AddressFixedLength = 4 + 2 + 16 + 2 + 1 + StatelessReset.TokenLength;

    /// <summary>Unknown parameters that are looked at for repetitions; a peer with more gains nothing by repeating one.</summary>
    private const int UnknownMaximum = 32;

    private readonly TransportParameters _parameters;
    private readonly bool _fromServer;
    private ulong _seen;

    private TransportParametersReader(TransportParameters parameters, bool fromServer)
    {
        _parameters = parameters;
        _fromServer = fromServer;
    }

    public static bool TryRead(ReadOnlySpan<byte> encoded, bool fromServer, out TransportParameters parameters, out QuicError? error)
    {
        parameters = new TransportParameters();
        string? fault = new TransportParametersReader(parameters, fromServer).Read(encoded);
        error = fault is null ? null : new QuicError(TransportErrorCode.TransportParameterError, fault, Frames.FrameType.Crypto);
        return fault is null;
    }

    private string? Read(ReadOnlySpan<byte> encoded)
    {
        Span<long> unknown = stackalloc long[UnknownMaximum];
        int unknownCount = 0;
        while (!encoded.IsEmpty)
        {
            if (!VariableLengthInteger.TryRead(encoded, out long id, out int idLength)
                || !VariableLengthInteger.TryRead(encoded[idLength..], out long length, out int lengthLength)
                || length > encoded.Length - idLength - lengthLength)
            {
                return "Transport parameters end too early";
            }

            ReadOnlySpan<byte> value = encoded.Slice(idLength + lengthLength, (int)length);
            encoded = encoded[(idLength + lengthLength + (int)length)..];
            bool isKnown = id <= (long)TransportParameterId.VersionInformation;
            if (isKnown ? (_seen & (1UL << (int)id)) != 0 : unknown[..unknownCount].Contains(id))
            {
                return "A transport parameter is repeated";
            }

            if (isKnown)
            {
                _seen |= 1UL << (int)id;
                if (Take((TransportParameterId)id, value) is string fault)
                {
                    return fault;
                }
            }
            else if (unknownCount < UnknownMaximum)
            {
                unknown[unknownCount++] = id;
            }
        }

        return _parameters is { PreferredAddress: not null, InitialSourceConnectionId.Length: 0 }
            ? "A server with an empty id may not have a preferred address"
            : null;
    }

    private readonly string? Take(TransportParameterId id, ReadOnlySpan<byte> value)
    {
        bool isServersOnly = id is TransportParameterId.OriginalDestinationConnectionId or TransportParameterId.StatelessResetToken
            or TransportParameterId.PreferredAddress or TransportParameterId.RetrySourceConnectionId;
        if (isServersOnly && !_fromServer)
        {
            return $"A client may not send {id}";
        }

        bool isValid = id switch
        {
            TransportParameterId.OriginalDestinationConnectionId or TransportParameterId.InitialSourceConnectionId
                or TransportParameterId.RetrySourceConnectionId => TryTakeId(id, value),
            TransportParameterId.StatelessResetToken => TryTakeResetToken(value),
            TransportParameterId.DisableActiveMigration => TryTakeDisabledMigration(value),
            TransportParameterId.PreferredAddress => TryTakeAddress(value),
            TransportParameterId.VersionInformation => TryTakeVersions(value),
            _ => TryTakeNumber(id, value),
        };
        return isValid ? null : $"{id} is not valid";
    }

    private readonly bool TryTakeId(TransportParameterId id, ReadOnlySpan<byte> value)
    {
        if (value.Length > ConnectionId.MaximumLength)
        {
            return false;
        }

        var connectionId = new ConnectionId(value);
        switch (id)
        {
            case TransportParameterId.OriginalDestinationConnectionId:
                _parameters.OriginalDestinationConnectionId = connectionId;
                break;
            case TransportParameterId.InitialSourceConnectionId:
                _parameters.InitialSourceConnectionId = connectionId;
                break;
            default:
                _parameters.RetrySourceConnectionId = connectionId;
                break;
        }

        return true;
    }

    private readonly bool TryTakeResetToken(ReadOnlySpan<byte> value)
    {
        _parameters.StatelessResetToken = value.ToArray();
        return value.Length == StatelessReset.TokenLength;
    }

    private readonly bool TryTakeDisabledMigration(ReadOnlySpan<byte> value)
    {
        _parameters.DisableActiveMigration = true;
        return value.IsEmpty;
    }

    private readonly bool TryTakeAddress(ReadOnlySpan<byte> value)
    {
        if (value.Length < AddressFixedLength)
        {
            return false;
        }

        int idLength = value[24];
        if (idLength is 0 or > ConnectionId.MaximumLength || value.Length != AddressFixedLength + idLength)
        {
            return false;
        }

        _parameters.PreferredAddress = new PreferredAddress(
            value[..6].ToArray(),
            value[6..24].ToArray(),
            new ConnectionId(value.Slice(25, idLength)),
            value[(25 + idLength)..].ToArray());
        return true;
    }

    /// <summary>A version of 0 is not one (RFC 9368, section 3). A list longer than we need is read no further.</summary>
    private readonly bool TryTakeVersions(ReadOnlySpan<byte> value)
    {
        if (value.Length < sizeof(uint) || value.Length % sizeof(uint) != 0)
        {
            return false;
        }

        uint chosen = BinaryPrimitives.ReadUInt32BigEndian(value);
        var available = new uint[Math.Min((value.Length / sizeof(uint)) - 1, VersionInformation.MaximumRead)];
        bool hasChosen = false;
        for (int offset = 0; offset < value.Length; offset += sizeof(uint))
        {
            uint version = BinaryPrimitives.ReadUInt32BigEndian(value[offset..]);
            if (version == 0)
            {
                return false;
            }

            int index = (offset / sizeof(uint)) - 1;
            hasChosen |= index >= 0 && version == chosen;
            if (index >= 0 && index < available.Length)
            {
                available[index] = version;
            }
        }

        _parameters.VersionInformation = new VersionInformation(chosen, available);
        return _fromServer || hasChosen;
    }

    private readonly bool TryTakeNumber(TransportParameterId id, ReadOnlySpan<byte> value)
    {
        if (!VariableLengthInteger.TryRead(value, out long number, out int count) || count != value.Length)
        {
            return false;
        }

        switch (id)
        {
            case TransportParameterId.MaxIdleTimeout:
                _parameters.MaxIdleTimeoutMs = number;
                return true;
            case TransportParameterId.MaxUdpPayloadSize:
                _parameters.MaxUdpPayloadSize = number;
                return number >= TransportParameters.MinimumMaxUdpPayloadSize;
            case TransportParameterId.InitialMaxData:
                _parameters.InitialMaxData = number;
                return true;
            case TransportParameterId.InitialMaxStreamDataBidiLocal:
                _parameters.InitialMaxStreamDataBidiLocal = number;
                return true;
            case TransportParameterId.InitialMaxStreamDataBidiRemote:
                _parameters.InitialMaxStreamDataBidiRemote = number;
                return true;
            case TransportParameterId.InitialMaxStreamDataUni:
                _parameters.InitialMaxStreamDataUni = number;
                return true;
            case TransportParameterId.InitialMaxStreamsBidi:
                _parameters.InitialMaxStreamsBidi = number;
                return number <= TransportParameters.MaximumStreams;
            case TransportParameterId.InitialMaxStreamsUni:
                _parameters.InitialMaxStreamsUni = number;
                return number <= TransportParameters.MaximumStreams;
            case TransportParameterId.AckDelayExponent:
                _parameters.AckDelayExponent = (int)Math.Min(number, int.MaxValue);
                return number <= TransportParameters.MaximumAckDelayExponent;
            case TransportParameterId.MaxAckDelay:
                _parameters.MaxAckDelayMs = (int)Math.Min(number, int.MaxValue);
                return number <= TransportParameters.MaximumMaxAckDelayMs;
            default:
                _parameters.ActiveConnectionIdLimit = number;
                return number >= TransportParameters.DefaultActiveConnectionIdLimit;
        }
    }
}
