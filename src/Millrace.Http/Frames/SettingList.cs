using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// The parameters of a SETTINGS frame in their order, in which they take effect; the last of one identifier counts. Only
/// <see cref="FramePayload.TrySettings"/> makes one, so each value is one its identifier allows.
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
