namespace Millrace.Http.Tests;

/// <summary>RFC 9112 section 5, RFC 9110 section 5.</summary>
public class FieldLineTests
{
    [Fact]
    public void Whitespace_around_a_value_is_not_part_of_it()
    {
        (RequestHead head, byte[] bytes) = Heads.Complete(Heads.WithFields("A:b\r\nC: \t d e\t \r\nF:\r\nG: \t \r\n"));
        Assert.Equal(["a", "b", "d e", "", ""], head.Fields.ToArray().Select(line => line.Value.Text(bytes)));
        Assert.Equal(["Host", "A", "C", "F", "G"], head.Fields.ToArray().Select(line => line.NameText.Text(bytes)));
    }

    [Theory]
    [InlineData("Host : a\r\n")]
    [InlineData("Host\t: a\r\n")]
    [InlineData("Content-Length : 1\r\n")]
    [InlineData("A B: c\r\n")]
    public void Whitespace_before_the_colon_is_refused_as_section_5_1_demands(string line)
        => Heads.FieldsAreRefused(HeadRefusal.SpaceBeforeColon, line);

    [Theory]
    [InlineData(" folded\r\n")]
    [InlineData("\tfolded\r\n")]
    [InlineData(" \r\n")]
    public void Obs_fold_is_refused_as_section_5_2_allows(string line) => Heads.FieldsAreRefused(HeadRefusal.ObsFold, line);

    [Theory]
    [InlineData(" Host: a\r\n\r\n")]
    [InlineData("\tHost: a\r\n\r\n")]
    public void Whitespace_before_the_first_field_is_refused_as_section_2_2_allows(string lines)
        => Heads.IsRefused(HeadRefusal.WhitespaceBeforeFirstField, "GET / HTTP/1.1\r\n" + lines);

    [Fact]
    public void An_empty_name_is_refused() => Heads.FieldsAreRefused(HeadRefusal.EmptyFieldName, ": a\r\n");

    [Theory]
    [InlineData("Host\r\n")]
    [InlineData("A-Name-Longer-Than-One-Vector-Of-32-Bytes\r\nB: c\r\n")]
    public void A_line_without_a_colon_is_refused(string line) => Heads.FieldsAreRefused(HeadRefusal.MissingColon, line);

    [Theory]
    [InlineData("A(b: c\r\n")]
    [InlineData("A\x01: c\r\n")]
    [InlineData("A\0: c\r\n")]
    [InlineData("A\x80: c\r\n")]
    [InlineData("\"A\": c\r\n")]
    [InlineData("@ost: c\r\n")]
    [InlineData("Content\rLength: 5\r\n", HeadRefusal.MissingColon)]
    [InlineData("A-Name-Longer-Than-One-Vector-Of-32-Bytes@: c\r\n")]
    internal void A_name_that_is_no_token_is_refused(string line, HeadRefusal refusal = HeadRefusal.BadFieldName)
        => Heads.FieldsAreRefused(refusal, line);

    [Fact]
    public void Exactly_the_bytes_of_rfc_9110_section_5_5_may_stand_in_a_value()
    {
        for (int value = 0; value < 256; value++)
        {
            if (value is '\r' or '\n')
            {
                continue;
            }

            string padding = new('a', value % 67);
            HeadResult result = Heads.Parse(Heads.WithFields($"A: {padding}{(char)value}b\r\n"));
            bool isAllowed = value is '\t' or >= 0x20 and not 0x7F;
            Assert.Equal(isAllowed ? HeadRefusal.None : HeadRefusal.BadFieldValue, result.Refusal);
            Assert.Equal(isAllowed, result.IsComplete);
        }
    }

    [Theory]
    [InlineData("A: b\n")]
    [InlineData("A: b\nC: d\r\n")]
    [InlineData("A\n")]
    [InlineData("\n")]
    public void A_bare_lf_is_refused(string line) => Heads.FieldsAreRefused(HeadRefusal.BareLf, line);

    [Theory]
    [InlineData("A: b\rc\r\n")]
    [InlineData("A: b\r\r\n")]
    [InlineData("\rA: b\r\n")]
    public void A_bare_cr_is_refused(string line) => Heads.FieldsAreRefused(HeadRefusal.BareCr, line);

    [Fact]
    public void Lines_of_every_length_around_a_vector_are_read_whole()
    {
        for (int length = 0; length < 200; length++)
        {
            string value = new('v', length);
            (RequestHead head, byte[] bytes) = Heads.Complete(Heads.WithFields($"Cookie: {value}\r\n"));
            Assert.True(head.TryGet(FieldName.Cookie, out TextRange cookie));
            Assert.Equal(value, cookie.Text(bytes));
        }
    }

    [Fact]
    public void Names_of_every_length_around_a_vector_are_read_whole()
    {
        for (int length = 1; length < 100; length++)
        {
            string name = new('n', length);
            (RequestHead head, byte[] bytes) = Heads.Complete(Heads.WithFields($"{name}: b\r\n"));
            Assert.Equal(name, head.Fields[1].NameText.Text(bytes));
        }
    }

    [Fact]
    public void Lines_of_one_field_are_found_together_and_in_order()
    {
        (RequestHead head, byte[] bytes) = Heads.Complete(
            Heads.WithFields("If-None-Match: \"1\"\r\nAccept: x\r\nif-none-match: \"2\"\r\nIF-NONE-MATCH: \"3\"\r\n"));
        var values = new List<string>();
        foreach (TextRange value in head.ValuesOf(FieldName.IfNoneMatch))
        {
            values.Add(value.Text(bytes));
        }

        Assert.Equal(["\"1\"", "\"2\"", "\"3\""], values);
        Assert.True(head.TryGet(FieldName.IfNoneMatch, out TextRange first));
        Assert.Equal("\"1\"", first.Text(bytes));
    }

    [Fact]
    public void A_field_that_was_not_sent_is_not_found()
    {
        RequestHead head = Heads.Complete(Heads.WithFields("")).Head;
        Assert.False(head.Has(FieldName.Range));
        Assert.False(head.TryGet(FieldName.Range, out _));
        Assert.False(head.ValuesOf(FieldName.Range).MoveNext());
    }

    [Fact]
    public void A_head_that_is_used_again_forgets_everything()
    {
        var head = new RequestHead();
        byte[] full = Latin1.Bytes(
            "POST http://b/c?d HTTP/1.0\r\nHost: h\r\nRange: bytes=0-1\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\n");
        byte[] plain = Latin1.Bytes("GET / HTTP/1.0\r\n\r\n");
        Assert.True(RequestHeadParser.Parse(full, head, HeadLimits.Default).IsComplete);
        HeadResult result = RequestHeadParser.Parse(plain, head, HeadLimits.Default);
        Assert.Equal(ReferenceParser.Describe(plain, HeadLimits.Default), HeadDescription.Of(result, head, plain));
    }
}
