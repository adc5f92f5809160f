namespace Millrace.Http.Tests;

/// <summary>The examples of RFC 7541 appendix C. A block's fields come first, then the count and the size of the table after it.</summary>
public class HpackExampleTests
{
    private const string FirstRequest = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\nOk\n1 57";

    private const string SecondRequest =
        ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache\nOk\n2 110";

    private const string ThirdRequest =
        ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value\nOk\n3 164";

    private const string FirstResponse =
        ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\nOk\n4 222";

    private const string SecondResponse =
        ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\nOk\n4 222";

    private const string ThirdResponse =
        ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\nlocation: https://www.example.com\n"
        + "content-encoding: gzip\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\nOk\n3 215";

    [Theory]
    [InlineData(10, 5, "0a")]
    [InlineData(1337, 5, "1f 9a 0a")]
    [InlineData(42, 8, "2a")]
    public void C1_integers(int value, int prefixBits, string hex)
    {
        byte[] bytes = Blocks.Bytes(hex);
        int at = 0;
        Assert.Equal(HpackResult.Ok, HpackInteger.Read(bytes, prefixBits, ref at, out int read));
        Assert.Equal((value, bytes.Length), (read, at));
        byte[] written = new byte[bytes.Length];
        Assert.Equal(bytes.Length, HpackInteger.Write(written, 0, prefixBits, value));
        Assert.Equal(bytes, written);
    }

    [Fact]
    public void C2_1_a_literal_that_is_inserted() => Blocks.Give(
        "custom-key: custom-header\nOk\n1 55",
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        new HpackDecoder());

    [Fact]
    public void C2_2_a_literal_that_is_not_inserted() => Blocks.Give(
        ":path: /sample/path\nOk\n0 0",
        "040c 2f73 616d 706c 652f 7061 7468",
        new HpackDecoder());

    [Fact]
    public void C2_3_a_literal_that_must_never_be() => Blocks.Give(
        "password: secret\nOk\n0 0",
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        new HpackDecoder());

    [Fact]
    public void C2_4_an_indexed_field() => Blocks.Give(":method: GET\nOk\n0 0", "82", new HpackDecoder());

    [Fact]
    public void C3_requests_of_one_connection()
    {
        var decoder = new HpackDecoder();
        Blocks.Give(FirstRequest, "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", decoder);
        Blocks.Give(SecondRequest, "8286 84be 5808 6e6f 2d63 6163 6865", decoder);
        Blocks.Give(
            ThirdRequest,
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
            decoder);
    }

    [Fact]
    public void C4_requests_of_one_connection_in_huffman_code()
    {
        var decoder = new HpackDecoder();
        Blocks.Give(FirstRequest, "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", decoder);
        Blocks.Give(SecondRequest, "8286 84be 5886 a8eb 1064 9cbf", decoder);
        Blocks.Give(ThirdRequest, "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", decoder);
    }

    [Fact]
    public void C5_responses_through_a_table_of_256_bytes()
    {
        HpackDecoder decoder = WithTableOf256();
        Blocks.Give(
            FirstResponse,
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e "
            + "1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            decoder);
        Blocks.Give(SecondResponse, "4803 3330 37c1 c0bf", decoder);
        Blocks.Give(
            ThirdResponse,
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d "
            + "4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 "
            + "6572 7369 6f6e 3d31",
            decoder);
    }

    [Fact]
    public void C6_responses_through_a_table_of_256_bytes_in_huffman_code()
    {
        HpackDecoder decoder = WithTableOf256();
        Blocks.Give(
            FirstResponse,
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b "
            + "97c8 e9ae 82ae 43d3",
            decoder);
        Blocks.Give(SecondResponse, "4883 640e ffc1 c0bf", decoder);
        Blocks.Give(
            ThirdResponse,
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf "
            + "cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            decoder);
    }

    private static HpackDecoder WithTableOf256()
    {
        var decoder = new HpackDecoder();
        Blocks.Give("Ok\n0 0", "3fe1 01", decoder);
        return decoder;
    }
}
