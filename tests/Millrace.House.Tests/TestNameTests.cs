using Millrace.House.Tests.Rules;

namespace Millrace.House.Tests;

public class TestNameTests
{
    [Fact]
    public void Tests_are_called_by_sentences() => Finding.AssertNone(Repository.SourcesUnder("tests/").SelectMany(TestRules.Names));

    [Fact]
    public void Files_of_tests_hold_tests() => Finding.AssertNone(Repository.SourcesUnder("tests/").SelectMany(TestRules.Empty));

    [Theory]
    [InlineData("[Fact]\npublic void Parse() { }")]
    [InlineData("[Theory]\n[InlineData(1)]\npublic async Task ParseReturnsNull(int a) { }")]
    [InlineData("[Fact]\npublic void Parse_Returns_Null() { }")]
    [InlineData("[Fact, Trait(\"Duration\", \"Long\")]\npublic void parse_returns_null() { }")]
    [InlineData("[Property(MaxTest = 1000)]\npublic bool Parse__returns_null(int a) => true;")]
    public void A_name_that_is_no_sentence_is_found(string text) =>
        Assert.Single(TestRules.Names(new SourceFile("tests/Millrace.Http.Tests/SampleTests.cs", text)));

    [Theory]
    [InlineData("A_bare_lf_is_refused")]
    [InlineData("Fin_after_request_still_gets_the_response")]
    [InlineData("SO_REUSEPORT_is_set")]
    public void A_sentence_is_accepted(string name) => Assert.True(TestRules.IsSentence(name));

    [Fact]
    public void A_file_of_tests_without_a_test_is_found() =>
        Assert.Single(TestRules.Empty(new SourceFile("tests/Millrace.Http.Tests/SampleTests.cs", "// [Fact]\npublic class SampleTests;")));
}
