namespace Millrace.House.Tests;

public class CSharpTextTests
{
    [Theory]
    [InlineData("a(); // b", "a();     ")]
    [InlineData("a(/* b */c);", "a(       c);")]
    [InlineData("a(\"b // c\");", "a(\"      \");")]
    [InlineData("a(\"\\\"b\"); c", "a(\"   \"); c")]
    [InlineData("a(@\"\\\"); c", "a(@\" \"); c")]
    [InlineData("a(@\"\"\"b\"); c", "a(@\"   \"); c")]
    [InlineData("a(\"\"); c", "a(\"\"); c")]
    [InlineData("a('\"'); b", "a(' '); b")]
    [InlineData("a('\\''); b", "a('  '); b")]
    [InlineData("a($\"b {c(\"d\")} e\"); f", "a($\"  {c(\" \")}  \"); f")]
    [InlineData("a($\"{{b}}\"); c", "a($\"     \"); c")]
    [InlineData("a(\"\"\"b \"c\" {d}\"\"\"); e", "a(\"\"\"         \"\"\"); e")]
    [InlineData("a($$\"\"\"{b} {{c}}\"\"\"); d", "a($$\"\"\"    {{c}}\"\"\"); d")]
    [InlineData("#region it's\na(); // b", "#region it's\na();     ")]
    [InlineData("a($\"{new { B = 1 }}\"); c", "a($\"{new { B = 1 }}\"); c")]
    public void Code_is_what_is_neither_comment_nor_literal(string source, string code) =>
        Assert.Equal(code, new CSharpText(source).Code);

    [Fact]
    public void Comments_keep_their_place() =>
        Assert.Equal("     // it's\n   /* c */  ", new CSharpText("a(); // it's\nb( /* c */);").Comments);
}
