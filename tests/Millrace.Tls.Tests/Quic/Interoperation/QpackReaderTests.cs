using Millrace.Tests.Shared;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>The test client's decoder, by the examples of RFC 9204, appendix B.</summary>
public sealed class QpackReaderTests
{
    [Fact]
    [Trait("Rfc", "9204-B")]
    public void The_examples_of_the_rfc_are_decoded()
    {
        var reader = new QpackReader(220);
        Assert.Equal([(":path", "/index.html")], reader.Decode(0, Convert.FromHexString("0000510b2f696e6465782e68746d6c"))!);

        // Two insertions, in pieces; the section before them is blocked.
        byte[] inserts = Convert.FromHexString("3fbd01c00f7777772e6578616d706c652e636f6dc10c2f73616d706c652f70617468");
        byte[] section = Convert.FromHexString("03811011");
        Assert.Null(reader.Decode(4, section));
        foreach (byte piece in inserts)
        {
            reader.Insert([piece]);
        }

        Assert.Equal([(":authority", "www.example.com"), (":path", "/sample/path")], reader.Decode(4, section)!);
        reader.Insert(Convert.FromHexString("4a637573746f6d2d6b65790c637573746f6d2d76616c7565"));
        reader.Insert(Convert.FromHexString("02"));
        Assert.Equal(
            [(":authority", "www.example.com"), (":path", "/"), ("custom-key", "custom-value")],
            reader.Decode(8, Convert.FromHexString("050080c181"))!);
        reader.Insert(Convert.FromHexString("810d637573746f6d2d76616c756532"));
        Assert.Equal(5, reader.InsertCount);
        Assert.Equal([0x01, 0x01, 0x84, 0x01, 0x01, 0x88, 0x01], reader.Instructions);
    }

    [Fact]
    public void What_the_client_encodes_is_decoded_as_it_was()
    {
        (string, string)[] fields =
        [
            (":method", "GET"), (":path", "/long/path/" + new string('x', 300)), ("accept", "*/*"), ("x-other", ""), ("range", "bytes=1-"),
        ];
        Assert.Equal(fields, new QpackReader(0).Decode(0, QpackFields.Section(fields))!);
    }
}
