using System.Text;

namespace Millrace.Models;

/// <summary>
/// A slow HPACK decoder (RFC 7541): lists of strings, and every index found by walking them. What it says of a block is text: a line
/// for each field, then the result, then the table.
/// </summary>
internal sealed class ReferenceHpack
{
    private const string StaticTable = """
        :authority|
        :method|GET
        :method|POST
        :path|/
        :path|/index.html
        :scheme|http
        :scheme|https
        :status|200
        :status|204
        :status|206
        :status|304
        :status|400
        :status|404
        :status|500
        accept-charset|
        accept-encoding|gzip, deflate
        accept-language|
        accept-ranges|
        accept|
        access-control-allow-origin|
        age|
        allow|
        authorization|
        cache-control|
        content-disposition|
        content-encoding|
        content-language|
        content-length|
        content-location|
        content-range|
        content-type|
        cookie|
        date|
        etag|
        expect|
        expires|
        from|
        host|
        if-match|
        if-modified-since|
        if-none-match|
        if-range|
        if-unmodified-since|
        last-modified|
        link|
        location|
        max-forwards|
        proxy-authenticate|
        proxy-authorization|
        range|
        referer|
        refresh|
        retry-after|
        server|
        set-cookie|
        strict-transport-security|
        transfer-encoding|
        user-agent|
        vary|
        via|
        www-authenticate|
        """;

    private static readonly (string Name, string Value)[] Static =
        [.. StaticTable.Split('\n').Select(line => line.Split('|')).Select(parts => (parts[0], parts[1]))];

    private readonly List<(string Name, string Value)> _table = [];
    private int _sizeMax = 4096;
    private byte[] _block = [];
    private int _at;
    private long _decodedBytes;

    public int TableBytes => _table.Sum(SizeOf);

    public IReadOnlyList<(string Name, string Value)> Table => _table;

    public string Decode(byte[] block, long decodedBytesMax = long.MaxValue)
    {
        (_block, _at, _decodedBytes) = (block, 0, 0);
        var text = new StringBuilder();
        string result = "Ok";
        try
        {
            ReadUpdates();
            while (_at < block.Length)
            {
                text.Append(_decodedBytes > decodedBytesMax ? throw new BlockException("TooLarge") : ReadField()).Append('\n');
            }
        }
        catch (BlockException failure)
        {
            result = failure.Message;
        }

        return $"{text}{result}\n{_table.Count} {TableBytes}";
    }

    private static int SizeOf((string Name, string Value) entry) => entry.Name.Length + entry.Value.Length + 32;

    private void ReadUpdates()
    {
        while (_at < _block.Length && _block[_at] >> 5 == 1)
        {
            int size = ReadInteger(5);
            _sizeMax = size <= 4096 ? size : throw new BlockException("BadSizeUpdate");
            Evict(_sizeMax);
        }
    }

    private string ReadField()
    {
        string bits = Convert.ToString(_block[_at], 2).PadLeft(8, '0');
        if (bits[0] == '1')
        {
            (string name, string value) = Find(ReadInteger(7));
            _decodedBytes += name.Length + value.Length;
            return $"{name}: {value}";
        }

        if (bits.StartsWith("001", StringComparison.Ordinal))
        {
            throw new BlockException("BadSizeUpdate");
        }

        bool isInserted = bits[1] == '1';
        int index = ReadInteger(isInserted ? 6 : 4);
        string literal = index == 0 ? ReadString() : Find(index).Name;
        var field = (Name: literal, Value: ReadString());
        _decodedBytes += field.Name.Length + field.Value.Length;
        if (isInserted)
        {
            Evict(_sizeMax - SizeOf(field));
            if (SizeOf(field) <= _sizeMax)
            {
                _table.Insert(0, field);
            }
        }

        return $"{field.Name}: {field.Value}";
    }

    private void Evict(int size)
    {
        while (_table.Count > 0 && TableBytes > size)
        {
            _table.RemoveAt(_table.Count - 1);
        }
    }

    private (string Name, string Value) Find(int index)
    {
        (string, string)[] all = [.. Static, .. _table];
        return index >= 1 && index <= all.Length ? all[index - 1] : throw new BlockException("BadIndex");
    }

    private string ReadString()
    {
        bool isCoded = _at < _block.Length && _block[_at] >= 128;
        int length = ReadInteger(7);
        if (length > _block.Length - _at)
        {
            throw new BlockException("Truncated");
        }

        byte[] bytes = _block[_at..(_at + length)];
        _at += length;
        return isCoded ? ReferenceHuffman.Decode(bytes) ?? throw new BlockException("BadHuffman") : Latin1.Text(bytes);
    }

    private int ReadInteger(int prefixBits)
    {
        int prefix = Next() % (1 << prefixBits);
        if (prefix < (1 << prefixBits) - 1)
        {
            return prefix;
        }

        decimal value = prefix;
        decimal unit = 1;
        for (int bytes = 0; bytes < 5; bytes++, unit *= 128)
        {
            byte next = Next();
            value += next % 128 * unit;
            if (next < 128)
            {
                return value <= int.MaxValue ? (int)value : throw new BlockException("IntegerOverflow");
            }
        }

        throw new BlockException("IntegerOverflow");
    }

    private byte Next() => _at < _block.Length ? _block[_at++] : throw new BlockException("Truncated");

    private sealed class BlockException(string result) : Exception(result);
}
