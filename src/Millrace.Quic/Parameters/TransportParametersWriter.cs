using System.Buffers.Binary;
using Millrace.Quic.Packets;

namespace Millrace.Quic.Parameters;

/// <summary>Encodes transport parameters (RFC 9000, section 18). The caller gives room for <see cref="MaximumLength"/> bytes.</summary>
internal ref struct TransportParametersWriter
{
    /// <summary>All parameters at their longest, with <see cref="VersionsMaximum"/> versions, and a grease parameter.</summary>
    public const int MaximumLength = 512;

    /// <summary>More available versions are not encoded.</summary>
    public const int VersionsMaximum = 16;

    private const int GreaseLengthMaximum = 8;

    private readonly Span<byte> _destination;
    private int _offset;

    private TransportParametersWriter(Span<byte> destination) => _destination = destination;

    public static int Write(TransportParameters parameters, Span<byte> destination, ulong grease)
    {
        var writer = new TransportParametersWriter(destination);
        writer.WriteIds(parameters);
        writer.WriteLimits(parameters);
        writer.WriteNumber(TransportParameterId.AckDelayExponent, parameters.AckDelayExponent, TransportParameters.DefaultAckDelayExponent);
        writer.WriteNumber(TransportParameterId.MaxAckDelay, parameters.MaxAckDelayMs, TransportParameters.DefaultMaxAckDelayMs);
        if (parameters.DisableActiveMigration)
        {
            writer.WriteBytes((long)TransportParameterId.DisableActiveMigration, []);
        }

        if (parameters.PreferredAddress is PreferredAddress address)
        {
            writer.WriteAddress(address);
        }

        if (parameters.VersionInformation is VersionInformation versions)
        {
            writer.WriteVersions(versions);
        }

        writer.WriteGrease(grease);
        return writer._offset;
    }

    private void WriteIds(TransportParameters parameters)
    {
        WriteId(TransportParameterId.OriginalDestinationConnectionId, parameters.OriginalDestinationConnectionId);
        WriteId(TransportParameterId.InitialSourceConnectionId, parameters.InitialSourceConnectionId);
        WriteId(TransportParameterId.RetrySourceConnectionId, parameters.RetrySourceConnectionId);
        if (parameters.StatelessResetToken is byte[] token)
        {
            WriteBytes((long)TransportParameterId.StatelessResetToken, token);
        }
    }

    private void WriteLimits(TransportParameters parameters)
    {
        WriteNumber(TransportParameterId.MaxIdleTimeout, parameters.MaxIdleTimeoutMs, 0);
        WriteNumber(TransportParameterId.MaxUdpPayloadSize, parameters.MaxUdpPayloadSize, TransportParameters.DefaultMaxUdpPayloadSize);
        WriteNumber(TransportParameterId.InitialMaxData, parameters.InitialMaxData, 0);
        WriteNumber(TransportParameterId.InitialMaxStreamDataBidiLocal, parameters.InitialMaxStreamDataBidiLocal, 0);
        WriteNumber(TransportParameterId.InitialMaxStreamDataBidiRemote, parameters.InitialMaxStreamDataBidiRemote, 0);
        WriteNumber(TransportParameterId.InitialMaxStreamDataUni, parameters.InitialMaxStreamDataUni, 0);
        WriteNumber(TransportParameterId.InitialMaxStreamsBidi, parameters.InitialMaxStreamsBidi, 0);
        WriteNumber(TransportParameterId.InitialMaxStreamsUni, parameters.InitialMaxStreamsUni, 0);
        WriteNumber(
            TransportParameterId.ActiveConnectionIdLimit,
            parameters.ActiveConnectionIdLimit,
            TransportParameters.DefaultActiveConnectionIdLimit);
    }

    private void WriteId(TransportParameterId parameter, ConnectionId? value)
    {
        if (value is ConnectionId id)
        {
            WriteBytes((long)parameter, id.AsSpan);
        }
    }

    private void WriteNumber(TransportParameterId parameter, long value, long defaultValue)
    {
        if (value != defaultValue)
        {
            WriteHead((long)parameter, VariableLengthInteger.Length(value));
            _offset += VariableLengthInteger.Write(_destination[_offset..], value);
        }
    }

    private void WriteAddress(PreferredAddress address)
    {
        ReadOnlySpan<byte> id = address.ConnectionId.AsSpan;
        int length = address.Ipv4.Length + address.Ipv6.Length + 1 + id.Length + address.StatelessResetToken.Length;
        WriteHead((long)TransportParameterId.PreferredAddress, length);
        Append(address.Ipv4);
        Append(address.Ipv6);
        Append([(byte)id.Length]);
        Append(id);
        Append(address.StatelessResetToken);
    }

    private void WriteVersions(VersionInformation versions)
    {
        int count = Math.Min(versions.Available.Length, VersionsMaximum);
        WriteHead((long)TransportParameterId.VersionInformation, sizeof(uint) * (1 + count));
        WriteVersion(versions.Chosen);
        foreach (uint version in versions.Available.AsSpan(0, count))
        {
            WriteVersion(version);
        }
    }

    private void WriteVersion(uint version)
    {
        BinaryPrimitives.WriteUInt32BigEndian(_destination[_offset..], version);
        _offset += sizeof(uint);
    }

    /// <summary>Ids of the form 31 * N + 27 are reserved so that peers get used to ignoring unknown ones.</summary>
    private void WriteGrease(ulong grease)
    {
        Span<byte> value = stackalloc byte[GreaseLengthMaximum];
        BinaryPrimitives.WriteUInt64LittleEndian(value, grease);
        long parameter = (31 * (long)(grease & 0xFF_FFFF)) + 27;
        WriteBytes(parameter, value[..(int)(grease >> 61)]);
    }

    private void WriteBytes(long parameter, scoped ReadOnlySpan<byte> value)
    {
        WriteHead(parameter, value.Length);
        Append(value);
    }

    private void WriteHead(long parameter, int length)
    {
        _offset += VariableLengthInteger.Write(_destination[_offset..], parameter);
        _offset += VariableLengthInteger.Write(_destination[_offset..], length);
    }

    private void Append(scoped ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(_destination[_offset..]);
        _offset += bytes.Length;
    }
}
