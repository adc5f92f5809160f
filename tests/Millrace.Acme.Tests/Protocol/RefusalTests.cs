using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Acme.Protocol;
using Millrace.Acme.Tests.Kit;

namespace Millrace.Acme.Tests.Protocol;

/// <summary>What an operator reads when an authority refuses, and what the caller gets.</summary>
public sealed class RefusalTests
{
    [Fact]
    public async Task A_rate_limit_is_shown_in_the_authoritys_words()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On(
            "/new-order", 429,
            """{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates (5) already issued","status":429}""",
            ("Retry-After", "90000"));
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Equal(
            $"The authority {Host(test)} refuses the order: rateLimited: too many certificates (5) already issued (HTTP 429, try again in 25 h)", e.Message);
        Assert.Equal(TimeSpan.FromSeconds(90000), e.RetryAfter);
        Assert.Equal(
            ("urn:ietf:params:acme:error:rateLimited", "rateLimited", "too many certificates (5) already issued", 429),
            (e.Problem!.Type, e.Problem.Name, e.Problem.Detail, e.Problem.Status));
        Assert.Empty(test.Authority.Faults);
    }

    [Theory]
    [InlineData("120", 120)]
    [InlineData("Tue, 01 Jan 2030 00:30:00 GMT", 1800)]
    [InlineData("Mon, 31 Dec 2029 00:00:00 GMT", 0)]
    [InlineData("2147483647", 7 * 86400)]
    [InlineData("Fri, 31 Dec 9999 23:59:59 GMT", 7 * 86400)]
    [InlineData("99999999999999999999", null)]
    [InlineData("-5", null)]
    [InlineData("in a while", null)]
    [InlineData(null, null)]
    public async Task Retry_after_is_read_in_both_forms_and_is_bounded(string? header, int? seconds)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", 503, "", header is null ? [] : [("Retry-After", header)]);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Equal(seconds is { } time ? TimeSpan.FromSeconds(time) : null, e.RetryAfter);
        Assert.StartsWith($"The authority {Host(test)} fails on the order (HTTP 503", e.Message, StringComparison.Ordinal);
        Assert.Equal((ProblemDocument.Blank, 503), (e.Problem!.Type, e.Problem.Status));
    }

    [Fact]
    public async Task The_problem_of_each_identifier_is_shown()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On(
            "/new-order", 403,
            """
            {
              "type": "urn:ietf:params:acme:error:malformed",
              "detail": "Some of the identifiers requested were rejected",
              "subproblems": [
                { "type": "urn:ietf:params:acme:error:malformed", "detail": "Invalid underscore in DNS name \"_example.org\"",
                  "identifier": { "type": "dns", "value": "_example.org" } },
                { "type": "urn:ietf:params:acme:error:rejectedIdentifier", "detail": "This CA will not issue for \"example.net\"",
                  "identifier": { "type": "dns", "value": "example.net" }, "subproblems": [{ "type": "deeper" }] },
                { "type": "https://ca.example/errors/odd" }
              ]
            }
            """);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Equal(
            $"The authority {Host(test)} refuses the order: malformed: Some of the identifiers requested were rejected "
                + "(_example.org: malformed: Invalid underscore in DNS name \"_example.org\"; "
                + "example.net: rejectedIdentifier: This CA will not issue for \"example.net\"; https://ca.example/errors/odd) (HTTP 403)",
            e.Message);
        Assert.Equal(
            [AcmeIdentifier.Of("_example.org"), AcmeIdentifier.Of("example.net"), null], e.Problem!.Subproblems.Select(static problem => problem.Identifier));
    }

    [Fact]
    public async Task Words_that_a_terminal_would_obey_are_not_passed_on()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        string much = new('x', 5000);
        test.Authority.On(
            "/new-order", 400, $$"""{"type":"urn:ietf:params:acme:error:connection","detail":"red\u001b[31m\r\nforged line \u202e {{much}}"}""");
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Contains("connection: red [31m  forged line   xxx", e.Message, StringComparison.Ordinal);
        Assert.InRange(e.Message.Length, 1000, 1200);
        Assert.DoesNotContain(e.Message, static c => char.IsControl(c));
    }

    [Fact]
    public async Task Of_many_problems_some_are_shown()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        string problems = string.Join(',', Enumerable.Range(0, 300).Select(static i => $$"""{"type":"t{{i}}"}"""));
        test.Authority.On("/new-order", 400, $$"""{"type":"about:blank","detail":"No.","subproblems":[{{problems}}]}""");
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.EndsWith(
            "refuses the order: No. (t0; t1; t2; t3; t4; t5; t6; t7; t8; t9; 90 more) (HTTP 400)", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("text/html", "<h1>Bad gateway</h1>")]
    [InlineData("application/json", "{")]
    [InlineData("application/problem+json", "[]")]
    [InlineData("application/problem+json", """{"type":7}""")]
    [InlineData("application/problem+json", """{"detail":"\ud800"}""")]
    [InlineData("; ;", "?")]
    public async Task A_refusal_that_is_not_readable_is_one(string contentType, string body)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", context =>
        {
            context.Response.StatusCode = 502;
            context.Response.Headers.ContentType = contentType;
            return context.Response.WriteAsync(body);
        });
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Equal($"The authority {Host(test)} fails on the order (HTTP 502)", e.Message);
    }

    [Fact]
    public async Task A_signed_request_is_not_redirected()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", 307, "", ("Location", "/elsewhere"));
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Contains($"a redirection to {test.Authority.Origin}/elsewhere, which is not followed (HTTP 307)", e.Message, StringComparison.Ordinal);
        Assert.Equal(0, test.Authority.CountOf("/elsewhere"));
    }

    [Fact]
    public async Task Other_requests_are_redirected_some_times()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/dir", 301, "", ("Location", "/moved"));
        test.Authority.On("/moved", context => ScriptedAuthority.AnswerJsonAsync(context, 200, test.Authority.DirectoryObject.ToJsonString()));
        test.Authority.On("/new-order", 201, ScriptedClient.Order, ("Location", "ORIGIN/order/1"));
        await test.OrderAsync();

        // In circles, and to where nothing is encrypted.
        test.Clock.Advance(TimeSpan.FromHours(2));
        test.Authority.On("/moved", 302, "", ("Location", "/dir"));
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Contains("redirection", e.Message, StringComparison.Ordinal);
        Assert.InRange(test.Authority.CountOf("/dir"), 3, 5);
        test.Authority.On("/dir", 302, "", ("Location", "http://192.0.2.1/dir"));
        e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Contains("a redirection to http://192.0.2.1/dir, which is not followed", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://ca.example/dir")]
    [InlineData("http://192.0.2.1/dir")]
    [InlineData("ftp://localhost/dir")]
    [InlineData("file:///etc/passwd")]
    [InlineData("/dir")]
    public void An_authority_is_asked_by_https_only(string url) => Assert.Throws<ArgumentException>(
        () => new AcmeClient(new Uri(url, UriKind.RelativeOrAbsolute), roots: null, TimeProvider.System, NullLogger.Instance));

    [Theory]
    [InlineData("http://localhost:14000/dir")]
    [InlineData("http://127.0.0.1/dir")]
    [InlineData("http://[::1]/dir")]
    [InlineData("https://ca.example/dir")]
    public void An_authority_on_this_machine_may_do_without(string url) =>
        new AcmeClient(new Uri(url), roots: null, TimeProvider.System, NullLogger.Instance).Dispose();

    private static string Host(ScriptedClient test) => test.Authority.Directory.Authority;
}
