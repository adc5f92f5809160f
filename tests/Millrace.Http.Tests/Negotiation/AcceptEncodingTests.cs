namespace Millrace.Http.Tests;

/// <summary>RFC 9110 sections 8.4.1 and 12.5.3. A choice is written as the coding's name, or 406.</summary>
public class AcceptEncodingTests
{
    private const CodingSet All = CodingSet.Identity | CodingSet.Gzip | CodingSet.Brotli | CodingSet.Zstd;

    [Theory]
    [InlineData("gzip", "gzip")]
    [InlineData("br", "br")]
    [InlineData("zstd", "zstd")]
    [InlineData("identity", "identity")]
    [InlineData("gzip, deflate, br, zstd", "br")]
    [InlineData("gzip, deflate, zstd", "zstd")]
    [InlineData("gzip,deflate", "gzip")]
    [InlineData("identity, gzip", "gzip")]
    [InlineData("\tgzip ,\t br,,", "br")]
    public void Of_equal_weights_the_smallest_coding_is_chosen(string value, string choice) => Assert.Equal(choice, Choose(value));

    [Theory]
    [InlineData("br;q=0.1, gzip;q=0.9", "gzip")]
    [InlineData("br;q=0.899, gzip;q=0.9", "gzip")]
    [InlineData("br;q=0.9, gzip;q=0.900", "br")]
    [InlineData("gzip;q=0.001", "gzip")]
    [InlineData("zstd ; q=1.000 , br ;q=0.999", "zstd")]
    [InlineData("zstd;Q=0.2, br;Q=0.1", "zstd")]
    [InlineData("identity;q=1, *;q=0.5", "identity")]
    [InlineData("identity;q=0.5, gzip;q=0.4", "identity")]
    [InlineData("identity;q=0.5, gzip;q=0.5", "gzip")]
    public void The_highest_weight_is_chosen(string value, string choice) => Assert.Equal(choice, Choose(value));

    [Theory]
    [InlineData("gzip;q=0", "identity")]
    [InlineData("gzip;q=0.000, br;q=0", "identity")]
    [InlineData("br;q=0, gzip", "gzip")]
    [InlineData("*, br;q=0", "zstd")]
    [InlineData("*;q=0.5, br;q=0, zstd;q=0", "gzip")]
    public void A_weight_of_0_refuses(string value, string choice) => Assert.Equal(choice, Choose(value));

    [Theory]
    [InlineData("*", "br")]
    [InlineData("*;q=0.1", "br")]
    [InlineData("gzip, *;q=0.5", "gzip")]
    [InlineData("gzip;q=0.5, *", "br")]
    [InlineData("gzip;q=0.5, *;q=0", "gzip")]
    public void An_asterisk_is_every_coding_that_is_not_listed(string value, string choice) => Assert.Equal(choice, Choose(value));

    [Theory]
    [InlineData("identity;q=0", "406")]
    [InlineData("*;q=0", "406")]
    [InlineData("identity;q=0, gzip;q=0", "406")]
    [InlineData("identity;q=0, deflate", "406")]
    [InlineData("*;q=0, deflate", "406")]
    [InlineData("identity;q=0, *;q=0.1", "br")]
    [InlineData("identity;q=0, gzip", "gzip")]
    [InlineData("*;q=0, identity", "identity")]
    [InlineData("*;q=0, identity;q=0.001", "identity")]
    [InlineData("identity, *;q=0", "identity")]
    public void Identity_is_acceptable_unless_it_or_an_asterisk_refuses_it(string value, string choice)
        => Assert.Equal(choice, Choose(value));

    [Theory]
    [InlineData("")]
    [InlineData(",")]
    [InlineData(" ")]
    [InlineData("deflate, compress, unknown")]
    public void Without_a_coding_that_is_known_identity_is_chosen(string value) => Assert.Equal("identity", Choose(value));

    [Theory]
    [InlineData("GZIP", "gzip")]
    [InlineData("Br", "br")]
    [InlineData("zStD", "zstd")]
    [InlineData("IDENTITY;q=0", "406")]
    [InlineData("x-gzip", "gzip")]
    [InlineData("X-GZip;q=0.5", "gzip")]
    public void Names_are_case_insensitive_and_x_gzip_is_gzip(string value, string choice) => Assert.Equal(choice, Choose(value));

    [Theory]
    [InlineData("gzip;q=x", "identity")]
    [InlineData("gzip;q=1.5", "identity")]
    [InlineData("gzip;q=0.1234, zstd", "zstd")]
    [InlineData("gzip;", "identity")]
    [InlineData("gzip;;q=1", "identity")]
    [InlineData("gzip;level=9", "identity")]
    [InlineData("gzip;q=0.5;level=9", "identity")]
    [InlineData("gzip q=1", "identity")]
    [InlineData("gzip br", "identity")]
    [InlineData("\"gzip\"", "identity")]
    [InlineData("identity;q=0.0000", "identity")]
    [InlineData("*;q=-1", "identity")]
    [InlineData("**", "identity")]
    [InlineData("br;q=oops, gzip", "gzip")]
    [InlineData(";q=1", "identity")]
    [InlineData(";q=0, gzip", "gzip")]
    [InlineData("gzi", "identity")]
    [InlineData("gzip2", "identity")]
    [InlineData("zst\x44, bR\x00", "zstd")]
    public void A_malformed_element_is_as_if_it_were_not_there(string value, string choice) => Assert.Equal(choice, Choose(value));

    [Theory]
    [InlineData("gzip;q=0, gzip", "identity")]
    [InlineData("gzip, gzip;q=0", "identity")]
    [InlineData("gzip, x-gzip;q=0", "identity")]
    [InlineData("br;q=0.2, br;q=0.8, gzip;q=0.5", "gzip")]
    [InlineData("*;q=0, *, gzip", "gzip")]
    public void Of_a_coding_named_twice_the_lower_weight_counts(string value, string choice) => Assert.Equal(choice, Choose(value));

    [Theory]
    [InlineData("gzip, br", CodingSet.Identity, "identity")]
    [InlineData("gzip, br", CodingSet.Identity | CodingSet.Gzip, "gzip")]
    [InlineData("br;q=1, gzip;q=0.5", CodingSet.Identity | CodingSet.Gzip, "gzip")]
    [InlineData("br, identity;q=0.5, gzip;q=0.1", CodingSet.Identity | CodingSet.Gzip, "identity")]
    [InlineData("identity;q=0, br", CodingSet.Identity | CodingSet.Gzip, "406")]
    [InlineData("identity;q=0, *", CodingSet.Identity, "406")]
    [InlineData("gzip", CodingSet.Gzip, "gzip")]
    [InlineData("", CodingSet.Gzip, "406")]
    [InlineData("*", CodingSet.None, "406")]
    public void Only_what_is_available_is_chosen(string value, object available, string choice)
        => Assert.Equal(choice, Choose(value, (CodingSet)available));

    [Theory]
    [InlineData("br, zstd, gzip", 3, 2, 1, "gzip")]
    [InlineData("br, zstd, gzip", 3, 1, 2, "zstd")]
    [InlineData("br, zstd", 3, 2, 1, "zstd")]
    [InlineData("br, zstd, gzip", 2, 2, 2, "br")]
    [InlineData("zstd, gzip", 1, 2, 2, "zstd")]
    [InlineData("br;q=0.9, zstd;q=0.8, gzip;q=0.8", 3, 2, 1, "br")]
    [InlineData("identity;q=0.5, br;q=0.5, zstd;q=0.5", 3, 2, 1, "zstd")]
    [InlineData("identity", 3, 2, 1, "identity")]
    public void Of_equal_weights_the_smallest_body_is_chosen(string value, long brotli, long zstd, long gzip, string choice)
        => Assert.Equal(choice, Choose(value, All, CodingOrder.BySize(brotli, zstd, gzip)));

    [Fact]
    public void Every_order_of_sizes_agrees_with_the_reference()
    {
        string[] values = ["*", "br, zstd, gzip", "br, zstd;q=0.5, gzip;q=0.5", "gzip, zstd", "identity;q=0.5, *;q=0.5", "br;q=0, *", ""];
        int[] sizes = [1, 2, 3];
        foreach ((int brotli, int zstd, int gzip) in from a in sizes from b in sizes from c in sizes select (a, b, c))
        {
            ContentCoding[] order = CodingOrder.BySize(brotli, zstd, gzip);
            foreach (string value in values)
            {
                Dictionary<string, decimal> weights = ReferenceEncodings.Read(value);
                for (CodingSet available = CodingSet.None; available <= All; available++)
                {
                    string expected = ReferenceEncodings.Choose(
                        weights, available, name => name == "br" ? brotli : name == "zstd" ? zstd : name == "gzip" ? gzip : 0);
                    string choice = Choose(value, available, order);
                    Assert.True(expected == choice, $"<{value}> of {available} by {brotli}, {zstd}, {gzip} is {expected}, not {choice}");
                }
            }
        }
    }

    [Fact]
    public void Every_list_of_two_elements_agrees_with_the_reference()
    {
        string[] elements = [.. Elements()];
        foreach (string one in elements)
        {
            foreach (string other in elements)
            {
                Compare($"{one},{other}");
            }
        }
    }

    [Fact]
    public void Longer_lists_agree_with_the_reference()
    {
        string[] elements = [.. Elements()];
        Cases.Run(5_000, random => Compare(string.Join(
            random.Pick(",", ", ", "\t,", " , ,"), Enumerable.Range(0, random.Next(8)).Select(_ => random.Pick(elements.AsSpan())))));
    }

    [Fact]
    public void Mutated_lists_agree_with_the_reference() => Cases.Run(10_000, random =>
    {
        char[] value = "gzip;q=0.5, br;q=0.25, *;q=0, identity;q=0.1".ToCharArray();
        for (int mutations = random.Next(1, 4); mutations > 0; mutations--)
        {
            value[random.Next(value.Length)] = random.Pick(" \t,;=q01.*\"xG".AsSpan());
        }

        Compare(new string(value));
    });

    private static IEnumerable<string> Elements()
        => from name in new[] { "gzip", "x-gzip", "BR", "zstd", "identity", "*", "deflate", "" }
           from weight in new[] { "", ";q=0", ";q=0.001", " ; Q=0.5", ";q=1.0", ";q=1.1" }
           select name + weight;

    private static void Compare(string value)
    {
        Dictionary<string, decimal> weights = ReferenceEncodings.Read(value);
        for (CodingSet available = CodingSet.None; available <= All; available++)
        {
            string expected = ReferenceEncodings.Choose(weights, available);
            string choice = Choose(value, available);
            Assert.True(expected == choice, $"<{value}> of {available} is {expected}, not {choice}");
        }
    }

    private static string Choose(string value, CodingSet available = All, ContentCoding[]? order = null)
        => AcceptEncoding.TryChoose(Latin1.Bytes(value), available, order ?? CodingOrder.Usual, out ContentCoding coding)
            ? Latin1.Text(ContentCodings.NameOf(coding))
            : "406";
}
